/* SPDX-License-Identifier: Apache-2.0
 * burn.h: the C client of burnd. Tensors live in a daemon; operations on them are recorded, sent in
 * batches and run there; reading values waits.
 *
 *     burn_context *context;
 *     burn_tensor *a, *b, *c;
 *     float values[6] = {1, 2, 3, 4, 5, 6}, result[6];
 *     int64_t shape[2] = {2, 3};
 *     if (burn_open(NULL, &context) != BURN_STATUS_OK)
 *         return fprintf(stderr, "%s\n", burn_last_error()->text), 1;
 *     burn_upload(context, BURN_DTYPE_FLOAT32, 2, shape, values, &a);
 *     burn_full(context, burn_float(2.5), 2, shape, BURN_DTYPE_FLOAT32, &b);
 *     burn_mul(context, burn_in(a), burn_in(b), &c);      (burn/burn_ops.h: one function an op)
 *     burn_read(c, result, sizeof result);
 *     burn_release(a); burn_release(b); burn_release(c);
 *     burn_close(context);
 *
 * Status
 *     Every function that can fail returns a burn_status; 0 is success. burn_last_error() then
 *     tells more, for the calling thread. The library never prints, exits or aborts on bad
 *     arguments of the kinds named here. NULL where something is needed is BURN_STATUS_INVALID, and
 *     its text names the argument; what has no status returns 0 or NULL. Wrong shapes and dtypes
 *     fail at once; what fails in the daemon (memory, an index out of range, a lost connection) is
 *     reported by the next burn_read or burn_sync. A lost connection over tcp:// or tls:// is made
 *     anew, for as long as the daemon keeps the session (30 s by default); calls take that long
 *     then, and nothing is done twice. Once it is lost for good, every call says so. A host that
 *     vanishes without a word is noticed within a minute.
 *
 * Ownership
 *     An out_ parameter is the caller's, to be given back by the release, destroy or close function
 *     of its type; on failure it is left untouched. Everything else is borrowed for the call.
 *
 * Threads and processes
 *     Any thread may use a context and its tensors; one lock a context, not held while waiting. The
 *     gradient mode and the last error belong to the calling thread. In a forked child, contexts of
 *     the parent fail with BURN_STATUS_UNAVAILABLE; open a new one.
 *
 * Over a network
 *     tls://host:port?pin=sha256:HEX believes the daemon with that public key (burnctl invite
 *     prints it); without a pin its certificate must be for the host and signed by an authority of
 *     the system, or of BURN_CA_FILE. Who the client is, BURN_TOKEN says, or BURN_TOKEN_FILE, or a
 *     certificate by BURN_CERT_FILE and BURN_KEY_FILE. Neither goes into a URL, and a file with a
 *     token or a key that others can read is BURN_STATUS_DENIED. The port is 7867 unless it is
 *     named.
 *
 * Structs that may grow begin with struct_size; set it to sizeof and the rest to 0 for defaults;
 * a struct_size that was forgotten is BURN_STATUS_INVALID.
 * C99 and C++. */
#ifndef BURN_BURN_H
#define BURN_BURN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define BURN_API __attribute__((visibility("default")))
#else
#define BURN_API
#endif

typedef struct burn_context burn_context; /* a connection */
typedef struct burn_tensor burn_tensor;
typedef struct burn_program burn_program;
typedef struct burn_optimizer burn_optimizer;

/* ---- status ---------------------------------------------------------------------------------- */

typedef int burn_status;
enum {
    BURN_STATUS_OK = 0,
    BURN_STATUS_INVALID = 1, /* an argument, shape, dtype or value is wrong */
    BURN_STATUS_NOT_FOUND = 2,
    BURN_STATUS_CONFLICT = 3,
    BURN_STATUS_LIMIT = 4,
    BURN_STATUS_NO_MEMORY = 5,
    BURN_STATUS_UNSUPPORTED = 6,
    BURN_STATUS_DEVICE = 7,
    BURN_STATUS_DEVICE_LOST = 8,
    BURN_STATUS_UNAVAILABLE = 9, /* no daemon, connection lost or closed */
    BURN_STATUS_UNAUTHENTICATED = 10,
    BURN_STATUS_DENIED = 11,
    BURN_STATUS_CANCELLED = 12, /* the interrupt callback ended the wait */
    BURN_STATUS_DEADLINE = 13,
    BURN_STATUS_PROTOCOL = 14,
    BURN_STATUS_INTERNAL = 15
};

typedef struct burn_error {
    burn_status status;
    int retryable;
    uint64_t op_number; /* burn_ops_recorded when the op had been recorded; 0: it was no op */
    const char *text;   /* valid until the thread's next failing call */
} burn_error;
/* Of the calling thread's last call that failed; never NULL. */
BURN_API const burn_error *burn_last_error(void);
BURN_API const char *burn_status_name(burn_status status);
BURN_API const char *burn_library_version(void);

/* ---- connection ------------------------------------------------------------------------------ */

typedef struct burn_options {
    size_t struct_size;
    const char *url; /* unix:///path, tls:// or wss://host:port (WebSocket, where only HTTP gets
                        through), tcp:// or ws://host:port; NULL: BURN_URL,
                        $XDG_RUNTIME_DIR/burnd.sock, /run/burnd/burnd.sock, then a private daemon
                        that ends with the context. ?resume=30: seconds for which a connection that
                        was lost, but a Unix socket, is tried again (at most those that the daemon
                        waits, which are the default); 0: not at all, nothing is kept for it and
                        the daemon frees all at once. ?device=NAME as below */
    const char *device;     /* NULL: the daemon's first */
    int connect_timeout_ms; /* 0: 5000, for the connection and again for the handshake; a private
                               daemon has 60000 to start */
    int private_daemon;     /* nonzero: start a private one whatever else there is */
    /* Called around waits: an interpreter drops its lock in between. NULL: none. */
    void *(*wait_begin)(void *user);
    void (*wait_end)(void *user, void *token);
    /* Nonzero ends the wait with BURN_STATUS_CANCELLED; asked at least 5 times a second. */
    int (*interrupted)(void *user);
    void *user;
    int observes; /* nonzero: it looks how the daemon is (burn_report) rather than computing; a
                     daemon that drains lets it in, if it has the scope admin or metrics, and does
                     not wait for it */
} burn_options;

/* options may be NULL. */
BURN_API burn_status burn_open(const burn_options *options, burn_context **out_context);
/* Tensors may outlive it; they then only can be released. NULL is fine. */
BURN_API void burn_close(burn_context *context);
/* The URL that was used, "private:" for a private daemon. */
BURN_API const char *burn_url(const burn_context *context);
/* What the daemon said: "server", "device", "devices" (one a line). "" if unknown. */
BURN_API const char *burn_welcome(const burn_context *context, const char *name);
BURN_API uint64_t burn_session(const burn_context *context);
/* 0 once it has failed, was closed, or belongs to the parent of this process. */
BURN_API int burn_alive(const burn_context *context);
/* Nonzero once the daemon has said that it ends the connection soon: it drains, say, and a loop has
 * drain_timeout (30 s) to save what it needs and to close. Does not wait. */
BURN_API int burn_draining(burn_context *context);

/* Sends what was recorded; does not wait. */
BURN_API burn_status burn_flush(burn_context *context);
/* Waits until all that was recorded has run; reports the first failure since the last sync. */
BURN_API burn_status burn_sync(burn_context *context);
/* The end of a step: what was recorded since the last one is run as one. Does not wait. */
BURN_API burn_status burn_mark(burn_context *context);
BURN_API burn_status burn_ping(burn_context *context, double *out_seconds);
/* kind: "stats", "devices", "sessions", "kernels", "config", "tokens", "listeners". JSON; free it
 * with burn_free. */
BURN_API burn_status burn_report(burn_context *context, const char *kind, char **out_json);
/* Drops what the daemon has to do for a session (0: this one's): what runs ends, ops that it has
 * received are not begun, and whoever waits for their results gets BURN_STATUS_CANCELLED; all other
 * tensors stay. From another thread while one waits, or for another session of the same user (see
 * "sessions", or burn_session there). An interrupt of a wait alone drops nothing. */
BURN_API burn_status burn_cancel(burn_context *context, uint64_t session);
/* Ends another session (see "sessions"), also one whose connection is lost and that waits to be
 * resumed: of the same user, or any with the scope admin. Its client gets
 * BURN_STATUS_CANCELLED. */
BURN_API burn_status burn_close_session(burn_context *context, uint64_t session);
/* Drains the daemon as SIGTERM does. */
BURN_API burn_status burn_shutdown(burn_context *context);
/* Reads configuration, certificate and tokens again as SIGHUP does; fails if they are wrong. */
BURN_API burn_status burn_reload(burn_context *context);
/* A new token: scopes as in "infer,compute" (NULL: these), seconds until it expires (0: never),
 * origins of the web pages that may show it, separated by commas (NULL: anyone). The answer is JSON
 * with the token, which the daemon does not keep; free it with burn_free. */
BURN_API burn_status burn_create_token(burn_context *context, const char *name,
                                       const char *scopes, uint64_t seconds, const char *origins,
                                       char **out_json);
/* A token for a page of this application: it acts for this session's own identity, with the scopes
 * named (NULL: "infer"), which the session must have itself, besides the scope mint. It lives for
 * seconds (0: 600; at most 3600), or until the session's own token ends, and is written to no file.
 * name (NULL: none) is for burnctl sessions; origins and answer as in burn_create_token. */
BURN_API burn_status burn_mint_token(burn_context *context, const char *name, const char *scopes,
                                     uint64_t seconds, const char *origins, char **out_json);
/* One more token of a name that has one: the same identity, scopes and origins. It expires after
 * seconds (0: never); the tokens of the name before it, and their sessions, end after grace_seconds
 * at the latest. Answer as in burn_create_token, with "others_end": when the last of them does. */
BURN_API burn_status burn_rotate_token(burn_context *context, const char *name, uint64_t seconds,
                                       uint64_t grace_seconds, char **out_json);
/* Ends all tokens of the name, or the one of "NAME/ID" (see the report "tokens"), those that they
 * minted, and the sessions of all of these. */
BURN_API burn_status burn_revoke_token(burn_context *context, const char *name);
BURN_API void burn_free(void *memory);
BURN_API uint64_t burn_bytes_sent(const burn_context *context);
/* Ops recorded so far; the next has this number plus 1. */
BURN_API uint64_t burn_ops_recorded(const burn_context *context);

/* ---- tensors --------------------------------------------------------------------------------- */

enum {
    BURN_DTYPE_DEFAULT = 0, /* an attribute: what the op gives by itself */
    BURN_DTYPE_FLOAT64 = 1,
    BURN_DTYPE_FLOAT32 = 2,
    BURN_DTYPE_FLOAT16 = 3,
    BURN_DTYPE_BFLOAT16 = 4,
    BURN_DTYPE_INT64 = 5,
    BURN_DTYPE_INT32 = 6,
    BURN_DTYPE_INT16 = 7,
    BURN_DTYPE_INT8 = 8,
    BURN_DTYPE_UINT64 = 9,
    BURN_DTYPE_UINT32 = 10,
    BURN_DTYPE_UINT16 = 11,
    BURN_DTYPE_UINT8 = 12,
    BURN_DTYPE_BOOL = 13
};
enum { BURN_MAX_RANK = 16 };

/* Copies the elements, row-major, rank dims; the memory is free again on return. */
BURN_API burn_status burn_upload(burn_context *context, int dtype, int rank, const int64_t *dims,
                                 const void *elements, burn_tensor **out_tensor);
/* Waits and copies all elements. INVALID if size_bytes is not burn_size_bytes(tensor). */
BURN_API burn_status burn_read(burn_tensor *tensor, void *elements, size_t size_bytes);
/* The only element of a tensor of any dtype, as a double. */
BURN_API burn_status burn_item(burn_tensor *tensor, double *out_value);

/* Memory that is shared with the daemon where that is possible (on a Unix socket): burn_upload from
 * it and burn_read into it need one copy less. It is memory like any other, page-aligned, not
 * zeroed, and may outlive the context; after a fork parent and child share it. */
BURN_API burn_status burn_alloc(burn_context *context, size_t size_bytes, void **out_memory);
BURN_API void burn_dealloc(void *memory); /* of burn_alloc, or NULL */

BURN_API void burn_retain(burn_tensor *tensor);
BURN_API void burn_release(burn_tensor *tensor); /* NULL is fine */
BURN_API burn_context *burn_context_of(const burn_tensor *tensor);
BURN_API int burn_dtype_of(const burn_tensor *tensor);
BURN_API int burn_rank(const burn_tensor *tensor);
/* rank numbers; valid while the tensor is and until burn_set_data on it. */
BURN_API const int64_t *burn_shape_of(const burn_tensor *tensor);
BURN_API int64_t burn_elements(const burn_tensor *tensor);
BURN_API size_t burn_size_bytes(const burn_tensor *tensor);
BURN_API size_t burn_dtype_bytes(int dtype);
/* "float32"; NULL if there is no such dtype. */
BURN_API const char *burn_dtype_text(int dtype);
/* Counts assignments to it and to what shares with it. */
BURN_API uint64_t burn_version_of(const burn_tensor *tensor);
BURN_API int burn_is_view(const burn_tensor *tensor);
BURN_API int burn_is_contiguous(const burn_tensor *tensor);
/* The strides, in elements, that PyTorch's tensor would have; one a dim. */
BURN_API void burn_strides_of(const burn_tensor *tensor, int64_t *strides);
/* Whether a reshape to these dims, of as many elements, would share as PyTorch's view() demands. */
BURN_API int burn_can_view(const burn_tensor *tensor, int rank, const int64_t *dims);
BURN_API uint64_t burn_id_of(burn_tensor *tensor);
/* A pointer of the caller's, for wrappers; NULL at first. */
BURN_API void *burn_user(const burn_tensor *tensor);
BURN_API void burn_set_user(burn_tensor *tensor, void *user);

/* ---- names ----------------------------------------------------------------------------------- */

/* Values by name, for other connections of this user and, below "public/", of all. A name is made
 * of letters, digits, '.', '_', '-' and '/', at most 255 bytes. It holds what the tensor shows when
 * it is published, until it is published anew, burn_unexport, or the end of the daemon.
 *
 * Publishes count tensors at "name/part" each, in one step, in order with the ops: whoever imports
 * the name gets all of these or all of those before. What stood at the name and below it ends. With
 * parts NULL and count 1 the name itself is the tensor's. wait 0: does not wait, and the next
 * burn_sync tells what failed. CONFLICT if a name stands above, LIMIT for too many names or bytes.
 */
BURN_API burn_status burn_export(burn_context *context, const char *name, const char *const *parts,
                                 burn_tensor *const *tensors, size_t count, int wait);

typedef struct burn_named {
    const char *part; /* "" for the name itself */
    burn_tensor *tensor;
} burn_named;
/* The name, or all below it in order: as they are now, whatever is published later. NOT_FOUND if
 * there is nothing. out_items is to be freed with burn_free_named, which releases the tensors. */
BURN_API burn_status burn_import(burn_context *context, const char *name, burn_named **out_items,
                                 size_t *out_count);
BURN_API void burn_free_named(burn_named *items, size_t count);
/* Ends the name and all below it. What was imported stays. */
BURN_API burn_status burn_unexport(burn_context *context, const char *name);
/* The name and all below it, NULL or "" for all names, "public" for the shared ones, as JSON, each
 * with the version of its publication, which grows with each one; free it with burn_free. */
BURN_API burn_status burn_list_names(burn_context *context, const char *prefix, char **out_json);

/* ---- ops ------------------------------------------------------------------------------------- */

/* An input: a tensor, a number that adapts to the tensors' dtype, or none (for an optional one). */
typedef struct burn_input {
    int kind; /* 0 none, 1 tensor, 2 bool, 3 int, 4 float */
    union {
        const burn_tensor *tensor;
        int64_t integer;
        double real;
    } as;
} burn_input;

static inline burn_input burn_in(const burn_tensor *tensor)
{
    burn_input input;
    input.kind = tensor ? 1 : 0;
    input.as.tensor = tensor;
    return input;
}
static inline burn_input burn_none(void)
{
    return burn_in(NULL);
}
static inline burn_input burn_bool(int value)
{
    burn_input input;
    input.kind = 2;
    input.as.integer = value != 0;
    return input;
}
static inline burn_input burn_int(int64_t value)
{
    burn_input input;
    input.kind = 3;
    input.as.integer = value;
    return input;
}
static inline burn_input burn_float(double value)
{
    burn_input input;
    input.kind = 4;
    input.as.real = value;
    return input;
}

/* An attribute: an int (or size, flag, dtype), or a list of them, or bytes. */
typedef struct burn_attribute {
    int is_set;        /* 0: the default */
    int64_t number;    /* of single ones */
    const void *items; /* int64_t, or bytes */
    size_t count;
} burn_attribute;

static inline burn_attribute burn_number(int64_t value)
{
    burn_attribute attribute = {1, 0, NULL, 0};
    attribute.number = value;
    return attribute;
}
static inline burn_attribute burn_list(const int64_t *items, size_t count)
{
    burn_attribute attribute = {1, 0, NULL, 0};
    attribute.items = items;
    attribute.count = count;
    return attribute;
}

/* Any op by number; burn/burn_ops.h has a function for each, which calls this. Inputs and
 * attributes at the end may be left out. Results of reshape, permute, expand, slice share with
 * their input. */
BURN_API burn_status burn_apply(burn_context *context, int op, const burn_input *inputs,
                                size_t input_count, const burn_attribute *attributes,
                                size_t attribute_count, burn_tensor **out_tensors,
                                size_t output_count);
/* The op's number, 0 if there is none of this name. */
BURN_API int burn_find_op(const char *name);

enum { BURN_ASSIGN_CAST = 1 /* any cast is allowed */ };
/* target := source, broadcast to its shape and cast to its dtype: all in-place ops are an op and
 * this. INVALID for a leaf that requires a gradient while the gradient mode is on. */
BURN_API burn_status burn_assign(burn_tensor *target, burn_input source, int flags);
/* target takes the shape, dtype and memory of the source, and keeps its own need of a gradient. */
BURN_API burn_status burn_set_data(burn_tensor *target, burn_tensor *source);
/* Shares with the tensor, has no history. */
BURN_API burn_status burn_detach(burn_tensor *tensor, burn_tensor **out_tensor);
/* A second handle on the same tensor's value, memory and history. */
BURN_API burn_status burn_alias(burn_tensor *tensor, burn_tensor **out_tensor);

/* Random ops take a seed and an offset: this reserves count numbers. */
BURN_API void burn_seed(burn_context *context, uint64_t seed, uint64_t offset);
BURN_API void burn_next_random(burn_context *context, uint64_t count, uint64_t *out_seed,
                               uint64_t *out_offset);

/* ---- gradients ------------------------------------------------------------------------------- */

/* Of the calling thread; on at first. Returns what it was. */
BURN_API int burn_set_grad_enabled(int enabled);
BURN_API int burn_grad_enabled(void);
BURN_API burn_status burn_set_requires_grad(burn_tensor *tensor, int flag);
BURN_API int burn_requires_grad(burn_tensor *tensor);
BURN_API int burn_is_leaf(burn_tensor *tensor);
BURN_API burn_status burn_retain_grad(burn_tensor *tensor);
BURN_API int burn_retains_grad(const burn_tensor *tensor);
/* Borrowed until the gradient is set or computed anew; NULL if there is none. */
BURN_API burn_tensor *burn_grad(burn_tensor *tensor);
BURN_API burn_status burn_set_grad(burn_tensor *tensor, burn_tensor *grad);

enum {
    BURN_BACKWARD_RETAIN = 1, /* the history can be used again */
    BURN_BACKWARD_CREATE = 2, /* gradients have a history of their own */
    BURN_BACKWARD_UNUSED = 4  /* inputs that do not matter are no error */
};
/* Adds gradients to what the leaves have. seeds, or one of them, may be NULL for roots of one
 * element. */
BURN_API burn_status burn_backward(burn_context *context, burn_tensor *const *roots,
                                   burn_tensor *const *seeds, size_t root_count,
                                   burn_tensor *const *inputs, size_t input_count, int flags);
/* Gradients of the inputs instead; out_grads[i] is NULL for one that does not matter. */
BURN_API burn_status burn_gradients(burn_context *context, burn_tensor *const *roots,
                                    burn_tensor *const *seeds, size_t root_count,
                                    burn_tensor *const *inputs, size_t input_count, int flags,
                                    burn_tensor **out_grads);

/* Hooks and gradient rules of one's own. An object hangs on what the tensor shows now, which must
 * require a gradient, and is released with it. Whoever differentiates asks first which of them the
 * roots depend on, finds their gradients, youngest id first, and names those as `cuts` whose
 * gradient it replaces: nothing flows through a cut but the seed that it has as a root. */
BURN_API burn_status burn_attach(burn_tensor *tensor, void *object, void (*release)(void *object));
BURN_API burn_status burn_attached(burn_tensor *tensor, void **out_object); /* or NULL */
/* A leaf that burn_reached tells of; its object is NULL. */
BURN_API burn_status burn_set_hooked(burn_tensor *tensor, int flag);
/* A handle on what the tensor shows now: later assignments to the tensor do not change it. */
BURN_API burn_status burn_snapshot(burn_tensor *tensor, burn_tensor **out_tensor);
/* The tensor was made without a history; it requires a gradient from now on, and its rule is the
 * caller's. */
BURN_API burn_status burn_end_history(burn_tensor *tensor);
BURN_API uint64_t burn_attachments(burn_context *context); /* how many there are */

typedef struct burn_reached_value {
    burn_tensor *tensor; /* to be released */
    void *object;
    uint64_t id;
} burn_reached_value;
/* out_values is to be freed with burn_free_reached. */
BURN_API burn_status burn_reached(burn_context *context, burn_tensor *const *roots,
                                  size_t root_count, burn_reached_value **out_values,
                                  size_t *out_count);
BURN_API void burn_free_reached(burn_reached_value *values, size_t count);
/* As burn_backward and burn_gradients. */
BURN_API burn_status burn_backward_cut(burn_context *context, burn_tensor *const *roots,
                                       burn_tensor *const *seeds, size_t root_count,
                                       burn_tensor *const *inputs, size_t input_count,
                                       burn_tensor *const *cuts, size_t cut_count, int flags);
BURN_API burn_status burn_gradients_cut(burn_context *context, burn_tensor *const *roots,
                                        burn_tensor *const *seeds, size_t root_count,
                                        burn_tensor *const *inputs, size_t input_count,
                                        burn_tensor *const *cuts, size_t cut_count, int flags,
                                        burn_tensor **out_grads);

/* ---- optimizers ------------------------------------------------------------------------------ */

typedef struct burn_sgd_options {
    size_t struct_size;
    double lr; /* 0: 1e-3 */
    double momentum, dampening, weight_decay;
    int nesterov, maximize;
} burn_sgd_options;
typedef struct burn_adam_options {
    size_t struct_size;
    double lr;           /* 0: 1e-3 */
    double beta1, beta2; /* 0: 0.9, 0.999 */
    double eps;          /* 0: 1e-8 */
    double weight_decay;
    int amsgrad, maximize;
    int decoupled; /* AdamW */
} burn_adam_options;
/* The parameters are retained. options may be NULL. */
BURN_API burn_status burn_sgd(burn_context *context, burn_tensor *const *parameters, size_t count,
                              const burn_sgd_options *options, burn_optimizer **out_optimizer);
BURN_API burn_status burn_adam(burn_context *context, burn_tensor *const *parameters, size_t count,
                               const burn_adam_options *options, burn_optimizer **out_optimizer);
/* Updates each parameter that has a gradient, and marks the end of the step. */
BURN_API burn_status burn_step(burn_optimizer *optimizer);
BURN_API burn_status burn_zero_grad(burn_optimizer *optimizer);
BURN_API void burn_set_learning_rate(burn_optimizer *optimizer, double lr);
BURN_API void burn_optimizer_destroy(burn_optimizer *optimizer);

/* ---- programs -------------------------------------------------------------------------------- */

/* From here to burn_program_end ops are recorded into a program and nothing runs. out_arguments
 * stand for the arguments. Other tensors may be used and assigned; each call of the program does
 * the same. */
BURN_API burn_status burn_program_begin(burn_context *context, burn_tensor *const *arguments,
                                        size_t count, burn_tensor **out_arguments);
BURN_API burn_status burn_program_end(burn_context *context, burn_tensor *const *outputs,
                                      size_t count, const char *name, burn_program **out_program);
BURN_API void burn_program_abort(burn_context *context);
/* Arguments have the shapes and dtypes of the recording; output_count is that of burn_program_end.
 */
BURN_API burn_status burn_program_call(burn_program *program, burn_tensor *const *arguments,
                                       size_t count, burn_tensor **out_outputs,
                                       size_t output_count);
BURN_API void burn_program_destroy(burn_program *program);

/* Publishes the program, with the present values of the tensors from outside that it uses, as
 * burn_export does tensors, and waits. INVALID if the program assigns to tensors from outside. */
BURN_API burn_status burn_export_program(burn_context *context, const char *name,
                                         burn_program *program);
/* A published program as it is now, whatever is published later. */
BURN_API burn_status burn_import_program(burn_context *context, const char *name,
                                         burn_program **out_program);
BURN_API size_t burn_program_arguments(const burn_program *program);
BURN_API size_t burn_program_outputs(const burn_program *program);

#ifdef __cplusplus
}
#endif
#endif
