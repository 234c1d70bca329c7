/* SPDX-License-Identifier: Apache-2.0
 * Opening and closing, the lock, what concerns the connection as a whole. */
#include "client/c/context.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "client/c/link.h"
#include "client/c/secure.h"
#include "proto/base/alloc.h"
#include "proto/base/clock.h"

enum { CONNECT_MS = 5000, PRIVATE_MS = 60000, PAGE_BYTES = 4096 };

/* ---- life ------------------------------------------------------------------------------------ */

/* A page that the kernel zeroes in a forked child: no handler, no system call a use. */
static bd_error *watch_forks(burn_context *context)
{
    void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        BD_FAIL(NO_MEMORY, "no memory for a page");
    if (madvise(page, PAGE_BYTES, MADV_WIPEONFORK) != 0) {
        munmap(page, PAGE_BYTES);
        BD_FAIL(UNSUPPORTED, "the kernel lacks MADV_WIPEONFORK (Linux 4.14)");
    }
    context->alive = page;
    atomic_store_explicit(context->alive, 1, memory_order_relaxed);
    return NULL;
}

bool bd_forked(const burn_context *context)
{
    return atomic_load_explicit(context->alive, memory_order_relaxed) == 0;
}

static void destroy(burn_context *context)
{
    pthread_mutex_destroy(&context->lock);
    pthread_cond_destroy(&context->fed);
    bd_resume_end(context);
    if (context->alive)
        munmap(context->alive, PAGE_BYTES);
    bd_free(context);
}

static bool is_foreign(const void *user)
{
    return bd_forked(user);
}

static void on_empty(void *user)
{
    burn_context *context = user;
    context->orphaned = true;
}

static bd_error *open_context(burn_context *context)
{
    int timeout_ms = context->options.connect_timeout_ms;
    BD_TRY(watch_forks(context));
    BD_TRY(bd_connect(context));
    /* A blocking recv looks for interrupts as often as poll does. */
    struct timeval slice = {.tv_usec = BD_WAIT_SLICE_MS * 1000};
    if (setsockopt(context->fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice) != 0)
        BD_FAIL(UNAVAILABLE, "the socket takes no time-out");
    bool local = strncmp(context->url, "unix:", 5) == 0 || context->daemon > 0;
    bool resumes = !local && context->resume_ms != 0;
    unsigned wishes = (resumes ? BD_CLIENT_RESUMES : 0) |
                      (context->options.observes ? BD_CLIENT_OBSERVES : 0);
    context->session = bd_session_create("burn-client " BURN_VERSION, context->options.device,
                                         context->token, wishes);
    memset(context->token, 0, sizeof context->token);
    bd_session_set_user(context->session, context, on_empty);
    bd_session_set_foreign(context->session, is_foreign);
    context->client = bd_session_client(context->session);
    bd_session_seed(context->session,
                    ((uint64_t)bd_now_us() ^ (uint64_t)getpid() << 40) & INT64_MAX, 0);
    if (timeout_ms <= 0) /* a private daemon has time: if it ends, that is noticed */
        timeout_ms = context->daemon > 0 ? PRIVATE_MS : CONNECT_MS;
    BD_TRY(bd_wait_open(context, timeout_ms));
    bd_resume_begin(context);
    return NULL;
}

bd_error *bd_take_options(const char *what, void *chosen, size_t chosen_size, const void *options)
{
    if (!options)
        return NULL;
    size_t size = *(const size_t *)options; /* the first member of all of them */
    if (size <= sizeof size)
        BD_FAIL(INVALID, "%s.struct_size is %zu: set it to sizeof(%s)", what, size, what);
    memcpy(chosen, options, size < chosen_size ? size : chosen_size);
    return NULL;
}

burn_status burn_open(const burn_options *options, burn_context **out_context)
{
    if (!out_context)
        return bd_finish(BD_ERROR(INVALID, "out_context is NULL: the connection needs a place"));
    burn_options chosen = {0};
    bd_error *wrong = bd_take_options("burn_options", &chosen, sizeof chosen, options);
    if (wrong)
        return bd_finish(wrong);
    burn_context *context = bd_alloc_zeroed(sizeof *context);
    pthread_mutex_init(&context->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&context->fed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    context->fd = -1;
    context->resume_ms = -1;
    context->options = chosen;
    pthread_mutex_lock(&context->lock);
    bd_error *error = open_context(context);
    context->options.url = context->options.device = NULL; /* were borrowed */
    if (!error) {
        pthread_mutex_unlock(&context->lock);
        *out_context = context;
        return BURN_STATUS_OK;
    }
    pthread_mutex_unlock(&context->lock);
    bd_free(context->websocket);
    bd_secure_free(context->secure);
    if (context->fd >= 0)
        close(context->fd);
    bd_reap(context);
    if (context->session)
        bd_session_destroy(context->session);
    destroy(context);
    return bd_finish(error);
}

void burn_close(burn_context *context)
{
    if (!context)
        return;
    bool child = bd_forked(context);
    if (!child)
        bd_lock(context);
    context->closed = true;
    if (!child && context->client) {
        bd_client_flush(context->client);
        bd_client_bye(context->client);
        context->resumes = false;
        bd_error_free(bd_send_now(context));
        bd_client_fail(context->client, BD_ERROR(UNAVAILABLE, "the connection was closed"));
        bd_link_finish(context);
        shutdown(context->fd, SHUT_RDWR);
        pthread_cond_broadcast(&context->fed);
        while (context->reading)
            pthread_cond_wait(&context->fed, &context->lock);
    }
    bd_free(context->websocket);
    bd_secure_free(context->secure);
    context->secure = NULL;
    context->websocket = NULL;
    close(context->fd);
    context->fd = -1;
    if (child)
        return; /* the parent's lock and tensors stay as they were at the fork */
    bd_region_close(context);
    bd_reap(context);
    context->client = NULL;
    bd_session_destroy(context->session);
    bd_leave(context);
}

void bd_lock(burn_context *context)
{
    pthread_mutex_lock(&context->lock);
    context->users++;
}

static void stay_out(burn_context *context)
{
    const burn_options *options = &context->options;
    void *token = options->wait_begin ? options->wait_begin(options->user) : NULL;
    bd_await_reader(context);
    pthread_mutex_unlock(&context->lock);
    if (options->wait_end)
        options->wait_end(options->user, token);
    pthread_mutex_lock(&context->lock);
}

bd_error *bd_enter(burn_context *context)
{
    if (!context)
        BD_FAIL(INVALID, "context is NULL");
    if (bd_forked(context))
        BD_FAIL(UNAVAILABLE,
                "this connection was opened by the parent process; open one in the child");
    bd_lock(context);
    while (context->uploading && !context->closed)
        stay_out(context);
    if (context->closed) {
        bd_leave(context);
        BD_FAIL(UNAVAILABLE, "the connection was closed");
    }
    bd_session_set_grad(context->session, bd_grad_mode());
    return NULL;
}

void bd_leave(burn_context *context)
{
    context->users--;
    bool last = context->orphaned && context->users == 0;
    pthread_mutex_unlock(&context->lock);
    if (last)
        destroy(context);
}

burn_context *bd_context_of(const burn_tensor *tensor)
{
    return tensor ? bd_session_user(bd_tensor_session(tensor)) : NULL;
}

/* Errors of the connection come back with the next call anyway. */
bd_error *bd_after_record(burn_context *context)
{
    if (bd_client_batched(context->client) >= BD_SEND_BATCH_BYTES)
        bd_client_flush(context->client);
    if (bd_client_backlog(context->client) == 0)
        return NULL;
    BD_TRY(context->lost ? bd_come_back(context) : bd_send_now(context));
    return bd_wait_backlog(context, BD_BACKLOG_BYTES_MAX);
}

/* ---- the connection as a whole --------------------------------------------------------------- */

const char *burn_url(const burn_context *context)
{
    if (bd_absent("context", context))
        return "";
    return context->url;
}

const char *burn_welcome(const burn_context *context, const char *name)
{
    if (bd_absent("context", context) || bd_absent("name", name) || context->closed)
        return "";
    const bd_client_facts *facts = bd_client_get_facts(context->client);
    if (strcmp(name, "server") == 0)
        return facts->server;
    if (strcmp(name, "device") == 0)
        return facts->device;
    return strcmp(name, "devices") == 0 ? facts->devices : "";
}

uint64_t burn_session(const burn_context *context)
{
    if (bd_absent("context", context))
        return 0;
    return context->closed ? 0 : bd_client_get_facts(context->client)->session;
}

int burn_alive(const burn_context *context)
{
    if (bd_absent("context", context))
        return 0;
    return !bd_forked(context) && !context->closed &&
           bd_client_get_phase(context->client) == BD_CLIENT_OPEN;
}

int burn_draining(burn_context *context)
{
    bd_error *error = bd_enter(context);
    if (error) {
        (void)bd_finish(error);
        return 0;
    }
    bd_hear(context);
    bool parts = *bd_client_farewell(context->client);
    bd_leave(context);
    return parts;
}

burn_status burn_flush(burn_context *context)
{
    bd_error *error = bd_enter(context);
    if (error)
        return bd_finish(error);
    bd_client_flush(context->client);
    error = bd_wait_backlog(context, 0);
    bd_leave(context);
    return bd_finish(error);
}

/* Waits for the answer and leaves; its JSON, if it has any, is the caller's. */
static burn_status finish_request(burn_context *context, bd_pending *pending, char **out_json)
{
    bd_error *error = bd_wait(context, pending);
    bd_leave(context);
    if (!error && out_json)
        *out_json = pending->report;
    else
        bd_free(pending->report);
    return bd_finish(error);
}

burn_status burn_sync(burn_context *context)
{
    bd_error *error = bd_enter(context);
    if (error)
        return bd_finish(error);
    bd_pending pending = {0};
    bd_client_sync(context->client, &pending);
    return finish_request(context, &pending, NULL);
}

burn_status burn_mark(burn_context *context)
{
    bd_error *error = bd_enter(context);
    if (error)
        return bd_finish(error);
    bd_session_mark(context->session);
    error = bd_after_record(context);
    bd_leave(context);
    return bd_finish(error);
}

burn_status burn_ping(burn_context *context, double *out_seconds)
{
    bd_error *error = bd_enter(context);
    if (error)
        return bd_finish(error);
    bd_pending pending = {0};
    int64_t begin_us = bd_now_us();
    bd_client_ping(context->client, &pending);
    error = bd_wait(context, &pending);
    if (!error && out_seconds)
        *out_seconds = (double)(bd_now_us() - begin_us) * 1e-6;
    bd_leave(context);
    return bd_finish(error);
}

static bd_error *report_type(const char *kind, bd_message_type *out_type)
{
    static const struct {
        const char *kind;
        bd_message_type type;
    } kinds[] = {{"stats", BD_MESSAGE_STATS},
                 {"devices", BD_MESSAGE_DEVICES},
                 {"sessions", BD_MESSAGE_SESSIONS},
                 {"kernels", BD_MESSAGE_KERNELS},
                 {"config", BD_MESSAGE_CONFIG},
                 {"tokens", BD_MESSAGE_TOKENS},
                 {"listeners", BD_MESSAGE_LISTENERS}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, kind) == 0) {
            *out_type = kinds[i].type;
            return NULL;
        }
    BD_FAIL(INVALID,
            "there is no report \"%s\"; there are stats, devices, sessions, kernels, config, "
            "tokens and listeners",
            kind);
}

burn_status burn_report(burn_context *context, const char *kind, char **out_json)
{
    bd_message_type type = BD_MESSAGE_NONE;
    bd_error *error = BD_GIVEN(context, kind, out_json);
    if (!error)
        error = report_type(kind, &type);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    bd_pending pending = {0};
    bd_client_ask(context->client, type, &pending);
    return finish_request(context, &pending, out_json);
}

static burn_status ask_for_done(burn_context *context, bd_message_type type)
{
    bd_error *error = bd_enter(context);
    if (error)
        return bd_finish(error);
    bd_pending pending = {0};
    bd_client_ask(context->client, type, &pending);
    return finish_request(context, &pending, NULL);
}

burn_status burn_shutdown(burn_context *context)
{
    return ask_for_done(context, BD_MESSAGE_SHUTDOWN);
}

burn_status burn_reload(burn_context *context)
{
    return ask_for_done(context, BD_MESSAGE_RELOAD);
}

/* Of a session: to it, or to what it has to do. */
static burn_status end(burn_context *context, uint64_t session, bool closes)
{
    bd_error *error = NULL;
    if (session > BURN_ID_MAX)
        error = BD_ERROR(INVALID, "there is no session %" PRIu64 ": sessions end below 2^53",
                         session);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    const bd_client_facts *facts = bd_client_get_facts(context->client);
    if (!(closes ? facts->closes_sessions : facts->cancels_work)) {
        bd_leave(context);
        return bd_finish(BD_ERROR(UNSUPPORTED, "the daemon at %s is too old to %s", context->url,
                                  closes ? "close sessions" : "cancel work"));
    }
    bd_pending pending = {0};
    (closes ? bd_client_close_session : bd_client_cancel_work)(context->client, session, &pending);
    return finish_request(context, &pending, NULL);
}

burn_status burn_cancel(burn_context *context, uint64_t session)
{
    return end(context, session, false);
}

burn_status burn_close_session(burn_context *context, uint64_t session)
{
    return end(context, session, true);
}

static bd_error *given_seconds(const char *argument, uint64_t seconds)
{
    if (seconds > INT64_MAX)
        BD_FAIL(INVALID, "%s is %" PRIu64 "; at most 2^63 - 1", argument, seconds);
    return NULL;
}

static burn_status ask_token(burn_context *context, bd_message_type type,
                             const bd_token_wish *wish, char **out_json)
{
    bd_error *error = bd_given_text("name", wish->name);
    if (!error)
        error = bd_given_text("scopes", wish->scopes);
    if (!error)
        error = bd_given_text("origins", wish->origins);
    if (!error)
        error = given_seconds("seconds", wish->seconds);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    bd_pending pending = {0};
    bd_client_ask_token(context->client, type, wish, &pending);
    return finish_request(context, &pending, out_json);
}

burn_status burn_create_token(burn_context *context, const char *name, const char *scopes,
                              uint64_t seconds, const char *origins, char **out_json)
{
    bd_error *error = BD_GIVEN(name, out_json);
    if (error)
        return bd_finish(error);
    bd_token_wish wish = {.name = name, .scopes = scopes, .origins = origins, .seconds = seconds};
    return ask_token(context, BD_MESSAGE_TOKEN_CREATE, &wish, out_json);
}

burn_status burn_mint_token(burn_context *context, const char *name, const char *scopes,
                            uint64_t seconds, const char *origins, char **out_json)
{
    bd_error *error = BD_GIVEN(out_json);
    if (error)
        return bd_finish(error);
    bd_token_wish wish = {.name = name, .scopes = scopes, .origins = origins, .seconds = seconds};
    return ask_token(context, BD_MESSAGE_TOKEN_MINT, &wish, out_json);
}

burn_status burn_rotate_token(burn_context *context, const char *name, uint64_t seconds,
                              uint64_t grace_seconds, char **out_json)
{
    bd_error *error = BD_GIVEN(name, out_json);
    if (!error)
        error = bd_given_text("name", name);
    if (!error)
        error = given_seconds("seconds", seconds);
    if (!error)
        error = given_seconds("grace_seconds", grace_seconds);
    if (!error)
        error = bd_enter(context);
    if (!error && !bd_client_get_facts(context->client)->rotates) {
        bd_leave(context);
        error = BD_ERROR(UNSUPPORTED, "the daemon at %s is too old to rotate tokens", context->url);
    }
    if (error)
        return bd_finish(error);
    bd_pending pending = {0};
    bd_client_rotate_token(context->client, name, seconds, grace_seconds, &pending);
    return finish_request(context, &pending, out_json);
}

burn_status burn_revoke_token(burn_context *context, const char *name)
{
    bd_error *error = BD_GIVEN(name);
    if (!error)
        error = bd_given_text("name", name);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    bd_pending pending = {0};
    bd_client_revoke_token(context->client, name, &pending);
    return finish_request(context, &pending, NULL);
}

void burn_free(void *memory)
{
    bd_free(memory);
}

uint64_t burn_bytes_sent(const burn_context *context)
{
    if (bd_absent("context", context))
        return 0;
    return context->closed ? 0 : bd_client_bytes_sent(context->client);
}

uint64_t burn_ops_recorded(const burn_context *context)
{
    if (bd_absent("context", context))
        return 0;
    return context->closed ? 0 : bd_client_op_count(context->client);
}

void burn_seed(burn_context *context, uint64_t seed, uint64_t offset)
{
    bd_error *error = bd_enter(context);
    if (!error) {
        bd_session_seed(context->session, seed & INT64_MAX, offset & INT64_MAX);
        bd_leave(context);
    }
    (void)bd_finish(error);
}

void burn_next_random(burn_context *context, uint64_t count, uint64_t *out_seed,
                      uint64_t *out_offset)
{
    if (bd_absent("out_seed", out_seed) || bd_absent("out_offset", out_offset))
        return;
    *out_seed = *out_offset = 0;
    bd_error *error = bd_enter(context);
    if (!error) {
        bd_session_next_random(context->session, count, out_seed, out_offset);
        bd_leave(context);
    }
    (void)bd_finish(error);
}
