/* SPDX-License-Identifier: Apache-2.0
 * The body of burn_context: a session of client/core, its socket, one lock.
 * Thread: any, under the lock; waiting happens outside it (wait.c). Invariant: only one thread at a
 * time reads the socket, and whoever reads feeds what came to all that wait. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "burn/burn.h"
#include "client/core/client.h"
#include "client/core/recording.h"
#include "client/core/tensor.h"
#include "proto/base/vec.h"

enum {
    BD_SEND_BATCH_BYTES = 4 * 1024, /* recorded bytes that are sent without being asked for */
    BD_BACKLOG_BYTES_MAX = 8 * 1024 * 1024, /* unsent bytes above which recording waits */
    BD_WAIT_SLICE_MS = 200,                 /* how often an interrupt is looked for */
};

typedef struct bd_host_region bd_host_region;

/* What was sent and the daemon may not have, in order. */
typedef struct bd_kept_part {
    const uint8_t *bytes;
    size_t size;
    uint8_t *own_block; /* that holds them; NULL: they are the caller's, whose upload goes on */
    size_t capacity;    /* of the block */
} bd_kept_part;

typedef struct bd_kept {
    BD_VEC(bd_kept_part) parts;
    uint64_t from; /* offset of the first byte */
    /* Within a WebSocket: where frames end that the daemon may not have whole, and where the last
     * one ends that began, and the last one that it has. */
    BD_VEC(uint64_t) frame_ends;
    uint64_t last_end, whole_end;
} bd_kept;

struct burn_context {
    pthread_mutex_t lock;
    pthread_cond_t fed; /* the reading thread has read */
    bool reading;
    bool uploading; /* by a thread that waits for credit; the others stay out */
    int64_t interrupted_us; /* an interrupt came in the upload then, or bytes went after it; or 0 */
    bool mid_frame; /* by that thread: nothing else may be sent until the frame is through */
    uint32_t users; /* threads between bd_lock and bd_leave, those that wait too */
    bool closed;
    bool orphaned; /* closed and without tensors: goes with its last user */
    int fd;
    struct bd_secure *secure; /* TLS over it, or NULL */
    struct bd_websocket *websocket; /* … within that or the socket, or NULL */
    pid_t daemon;        /* the private one, or 0 */
    atomic_uchar *alive; /* a page that is zero in a forked child */
    bd_session *session;
    bd_client *client;
    burn_options options;
    bool resumes;       /* a lost connection is made anew */
    bool lost;          /* it is to be: nothing is read or written */
    bool resuming;      /* by one thread, which leaves the lock in between */
    bool unread;        /* it was: bytes may be there that poll does not tell of */
    int lost_errno;     /* what went wrong; 0: the daemon hung up */
    int64_t resume_until_us; /* 0: nothing is lost */
    int64_t resume_ms;  /* ?resume in the URL; 0: not at all; -1: as long as the daemon waits */
    bd_kept kept;
    bd_host_region *slots; /* for memory that is in no region; or NULL */
    bool slots_busy;
    uint64_t next_region;
    uint8_t scratch[64 * 1024]; /* of the thread that reads */
    char url[256];
    char device[64]; /* of the URL */
    char token[129]; /* until it is in HELLO */
};

struct burn_program {
    burn_context *context;
    bd_program *program;
};

/* ---- status.c ---- */
/* Keeps the error for burn_last_error of this thread; consumes it. */
burn_status bd_finish(bd_error *own_error);
/* Copies options, which begin with the caller's struct_size, into chosen; NULL: nothing. */
bd_error *bd_take_options(const char *what, void *chosen, size_t chosen_size,
                          const void *options) BD_MUST_USE;
bool bd_grad_mode(void);

/* ---- given.c ---- */
/* INVALID if one of these is NULL; names: as in "tensor, out_tensor". */
bd_error *bd_given(const char *names, const void *const *values, size_t count) BD_MUST_USE;
/* INVALID if the array is NULL, or a tensor in it that must not be; LIMIT for too many. */
bd_error *bd_given_tensors(const char *name, burn_tensor *const *tensors, size_t count,
                           bool may_be_null) BD_MUST_USE;
/* INVALID if it is no UTF-8 or longer than a message can say; NULL is fine. */
bd_error *bd_given_text(const char *name, const char *text) BD_MUST_USE;
/* Whether it is NULL: where a function has no status, the error is only kept. */
static inline bool bd_absent(const char *name, const void *value)
{
    if (!value)
        (void)bd_finish(BD_ERROR(INVALID, "%s is NULL", name));
    return !value;
}
#define BD_GIVEN(...)                                                                              \
    bd_given(#__VA_ARGS__, (const void *const[]){__VA_ARGS__},                                     \
             sizeof(const void *const[]){__VA_ARGS__} / sizeof(void *))
/* In a function that returns a status: these are given, and the lock is taken. */
#define BD_ENTER(context, ...)                                                                     \
    do {                                                                                           \
        bd_error *bd_enter_error_ = BD_GIVEN(__VA_ARGS__);                                         \
        if (!bd_enter_error_)                                                                      \
            bd_enter_error_ = bd_enter(context);                                                   \
        if (bd_enter_error_)                                                                       \
            return bd_finish(bd_enter_error_);                                                     \
    } while (0)

/* ---- context.c ---- */
void bd_lock(burn_context *context); /* not in a forked child */
/* Takes the lock; UNAVAILABLE in a forked child or after the close. */
bd_error *bd_enter(burn_context *context) BD_MUST_USE;
void bd_leave(burn_context *context);
bool bd_forked(const burn_context *context);
burn_context *bd_context_of(const burn_tensor *tensor);
/* After recording: sends what has gathered. Under the lock. */
bd_error *bd_after_record(burn_context *context) BD_MUST_USE;

/* ---- wait.c: under the lock, which they leave while they wait ---- */
void bd_await_reader(burn_context *context); /* or the end of an upload; at most a slice */
bd_error *bd_wait(burn_context *context, bd_pending *pending) BD_MUST_USE;
bd_error *bd_wait_open(burn_context *context, int timeout_ms) BD_MUST_USE;
bd_error *bd_wait_backlog(burn_context *context, size_t most_bytes) BD_MUST_USE;
bd_error *bd_send_now(burn_context *context) BD_MUST_USE; /* what the socket takes */
void bd_hear(burn_context *context); /* what has come, without waiting */
/* Waits for events of fd (-1: none) at most so long, or a slice. CANCELLED: an interrupt came. */
bd_error *bd_pause(burn_context *context, int fd, short events, int wait_ms) BD_MUST_USE;
/* Around what blocks, without the lock; then CANCELLED after an interrupt, UNAVAILABLE if the
 * connection was closed meanwhile. */
void *bd_step_out(burn_context *context);
bd_error *bd_step_in(burn_context *context, void *token) BD_MUST_USE;
bd_error *bd_put(burn_context *context, uint64_t id, const burn_tensor_type *type,
                 const void *bytes, size_t size_bytes) BD_MUST_USE;
bd_error *bd_come_back(burn_context *context) BD_MUST_USE; /* from a loss of the connection */
/* For those who write frames of their own, one at a time: */
bd_error *bd_turn_whole(burn_context *context) BD_MUST_USE; /* one turn, not to be interrupted */
/* fd goes along; -1: none. */
bd_error *bd_write_head(burn_context *context, const uint8_t *head, size_t head_bytes,
                        int fd) BD_MUST_USE;

/* ---- region.c ---- */
/* *out_done: it went by a region; otherwise nothing has happened. */
bd_error *bd_region_put(burn_context *context, uint64_t id, const burn_tensor_type *type,
                        const void *bytes, size_t size_bytes, bool *out_done) BD_MUST_USE;
bd_error *bd_region_get(burn_context *context, uint64_t id, void *place, size_t size_bytes,
                        bool *out_done) BD_MUST_USE;
/* The context ends; memory that users hold stays. */
void bd_region_close(burn_context *context);

/* ---- token.c ---- */
/* BURN_TOKEN, or what stands in BURN_TOKEN_FILE; "" for none. INVALID if it can be no token. */
bd_error *bd_find_token(char *room, size_t room_bytes) BD_MUST_USE;
/* DENIED if others could read the file with a secret that the variable names: its mode may be 0600,
 * or 0640 where root owns it. One that is not there, or no regular file, is not the matter here. */
bd_error *bd_check_secret_file(const char *variable, const char *path) BD_MUST_USE;

/* ---- resume.c ---- */
/* After the handshake: what is sent from here on is kept. */
void bd_resume_begin(burn_context *context);
/* The first bytes of what was to be sent were: those of an upload's chunk stay where they are … */
void bd_resume_keep(burn_context *context, const struct iovec *parts, size_t size_bytes);
/* … until this, when they go back to the caller. */
void bd_resume_settle(burn_context *context);
/* A frame begins that must come as one message. */
void bd_resume_frame(burn_context *context, uint64_t size_bytes);
void bd_resume_end(burn_context *context); /* nothing is kept any more */
/* Makes a lost connection anew, where both sides go on; or gives up for a reason, which is the
 * caller's (else NULL). After an error (CANCELLED by an interrupt) it is as lost as before and may
 * be tried again. */
bd_error *bd_resume(burn_context *context, bd_error **out_reason) BD_MUST_USE;

/* ---- connect.c ---- */
/* To the same daemon again. */
bd_error *bd_reconnect(burn_context *context, int timeout_ms) BD_MUST_USE;
/* A connected socket for the options' URL, or for the first of the look-up that answers. */
bd_error *bd_connect(burn_context *context) BD_MUST_USE;
/* ---- spawn.c ---- */
bd_error *bd_spawn(burn_context *context) BD_MUST_USE;
void bd_reap(burn_context *context);
