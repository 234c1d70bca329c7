/* SPDX-License-Identifier: Apache-2.0
 * The engine's life, its two queues, and the loop of the device thread: letters are taken up, then
 * sessions that can go on take turns (engine/turns.h), one plan each. */
#include "engine/engine.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "engine/core.h"
#include "engine/engine_parts.h"
#include "engine/throttle.h"
#include "proto/base/alloc.h"
#include "proto/base/clock.h"
#include "proto/base/assert.h"
#include "proto/base/log.h"

/* ---- requests and replies ---- */

bd_request *bd_request_create(bd_request_kind kind, uint64_t session)
{
    bd_posted *posted = bd_alloc_zeroed(sizeof *posted);
    posted->kind = BD_LETTER_REQUEST;
    posted->request.kind = kind;
    posted->request.session = session;
    return &posted->request;
}

static bd_posted *posted_of(bd_request *request)
{
    return (bd_posted *)(void *)((char *)request - offsetof(bd_posted, request));
}

void bd_request_destroy(bd_request *request)
{
    if (!request)
        return;
    bd_buffer_release(request->buffer);
    bd_error_free(request->error);
    bd_quota_release(request->quota);
    bd_free(request->payload);
    bd_free(posted_of(request));
}

void bd_engine_post(bd_engine *engine, bd_request *own_request)
{
    if (own_request->kind == BD_REQUEST_SESSION_OPEN) /* uploads may begin at once */
        bd_memory_open(engine->core.memory, own_request->session, own_request->name,
                       own_request->quota);
    posted_of(own_request)->posted_ns = bd_now_ns();
    bd_mailbox_push(engine->core.letters, &posted_of(own_request)->letter);
}

typedef struct bd_posted_reply {
    bd_letter letter;
    bd_reply reply;
} bd_posted_reply;

static bd_posted_reply *reply_letter(bd_reply *reply)
{
    return (bd_posted_reply *)(void *)((char *)reply - offsetof(bd_posted_reply, reply));
}

static bd_reply *new_reply(bd_reply_kind kind, uint64_t session, uint64_t request)
{
    bd_posted_reply *posted = bd_alloc_zeroed(sizeof *posted);
    posted->reply.kind = kind;
    posted->reply.session = session;
    posted->reply.request = request;
    return &posted->reply;
}

bd_reply *bd_core_new_reply(bd_reply_kind kind, const bd_session *session, uint64_t request)
{
    return new_reply(kind, session->number, request);
}

void bd_core_reply(bd_core *core, bd_reply *own_reply)
{
    bd_session *session = bd_map_get(&core->sessions, own_reply->session);
    if (session) { /* credit rides along */
        own_reply->credit_bytes += session->credit_bytes;
        session->credit_bytes = 0;
    }
    if (bd_mailbox_push(core->replies, &reply_letter(own_reply)->letter) && core->options.wake)
        core->options.wake(core->options.wake_user);
}

bd_reply *bd_engine_next_reply(bd_engine *engine)
{
    bd_letter *letter = bd_mailbox_take(engine->core.replies);
    return letter ? &((bd_posted_reply *)letter)->reply : NULL;
}

void bd_reply_destroy(bd_reply *reply)
{
    if (!reply)
        return;
    bd_buffer_release(reply->buffer);
    bd_error_free(reply->error);
    bd_free(reply->payload);
    bd_free(reply_letter(reply));
}

bd_error *bd_engine_upload_buffer(bd_engine *engine, uint64_t session, size_t size_bytes,
                                  bd_buffer **out)
{
    return bd_memory_alloc_for(engine->core.memory, session, size_bytes, BD_MEMORY_HOST, out);
}

/* ---- turns ---- */

static bd_session *session_of(bd_turn *turn)
{
    return (bd_session *)(void *)((char *)turn - offsetof(bd_session, turn));
}

static bool has_room(const bd_core *core)
{
    if (bd_memory_is_lost(core->memory))
        return false;
    return core->flight_count < 2 || core->flight_ns < BD_FLIGHT_NS_MAX;
}

bool bd_core_is_free(const bd_core *core)
{
    return has_room(core) && !bd_turns_any(core->turns, BD_TURN_DEVICE);
}

void bd_core_make_ready(bd_core *core, bd_session *session)
{
    if (bd_session_can_resume(session)) {
        bd_turns_wait(core->turns, &session->turn, BD_TURN_DEVICE);
        return;
    }
    bd_turns_withdraw(core->turns, &session->turn, BD_TURN_DEVICE); /* its work was cancelled */
    if (bd_session_can_step(session) && !bd_throttle_holds(session))
        bd_turns_wait(core->turns, &session->turn, BD_TURN_THREAD);
    else if (!session->first && !session->waiting && session->in_flight == 0)
        bd_turns_rest(&session->turn);
}

static bool any_turn(const bd_core *core)
{
    return bd_turns_any(core->turns, BD_TURN_THREAD) ||
           (has_room(core) && bd_turns_any(core->turns, BD_TURN_DEVICE));
}

/* The next session goes on for a while. */
static void take_turn(bd_core *core)
{
    bd_turn *turn = bd_turns_next(core->turns, has_room(core) ? BD_TURN_DEVICE : BD_TURN_THREAD);
    if (!turn)
        return;
    bd_session *session = session_of(turn);
    int64_t begin_ns = bd_now_ns();
    if (turn->kind == BD_TURN_DEVICE)
        bd_session_resume(session);
    else if (!bd_throttle_holds(session)) /* others of its principal may have been before it */
        bd_session_step(session);
    bd_turns_charge(turn, BD_TURN_THREAD, bd_now_ns() - begin_ns + 1);
    bd_core_make_ready(core, session);
}

/* ---- runs ---- */

static void count_launches(bd_core *core, bd_run *run)
{
    uint64_t run_ns = (uint64_t)run->submission.run_ns;
    for (uint32_t i = 0; i < run->submission.launch_count; i++) {
        uint32_t kernel = run->known->plan->launches[run->launch_numbers[i]].kernel;
        bd_cached *cached = run->known->kernels[kernel];
        bd_count(&cached->launches, 1);
        bd_count(&cached->run_ns, (uint64_t)run->launches[i].run_ns);
        run_ns += (uint64_t)run->launches[i].run_ns;
    }
    bd_count(&core->counters.run_ns, run_ns);
    bd_histogram_add(&core->counters.run, (int64_t)run_ns);
    run->known->last_run_ns = (int64_t)run_ns;
}

/* What a run takes is known when it is done; until then it counts as much as the last time. */
static void charge(bd_session *session, const bd_run *run)
{
    int64_t ns = run->known->last_run_ns;
    bd_turns_charge(&session->turn, BD_TURN_DEVICE, ns - run->charged_ns);
    bd_count(&session->account->device_ns, (uint64_t)ns);
}

static void retire_done(bd_core *core)
{
    while (core->flight_first && core->flight_first->done) {
        bd_run *run = core->flight_first;
        core->flight_first = run->next;
        if (!core->flight_first)
            core->flight_last = NULL;
        core->completed = run->order;
        bd_memory_set_completed(core->memory, run->order);
        core->flight_count--;
        core->flight_ns -= run->charged_ns;
        count_launches(core, run);
        bd_memory_note(core->memory, run->submission.error);
        bd_session *session = run->session;
        if (session) {
            charge(session, run);
            bd_session_finish_run(session, run);
            bd_session_answer(session);
            bd_core_make_ready(core, session);
        }
        bd_run_retire(run);
        if (!core->flight_first)
            bd_spoils_clear(&core->spoils);
    }
}

/* Thread: any; during bd_core_submit also the device thread. */
static void run_done(bd_submission *submission)
{
    bd_run *run = submission->user;
    bd_core *core = run->engine;
    if (pthread_equal(pthread_self(), core->device_thread) && core->submitting)
        run->done = true;
    else
        bd_mailbox_push(core->letters, &run->letter);
}

/* Thread: any but the device thread. */
static void run_soon(bd_submission *submission)
{
    bd_core *core = ((bd_run *)submission->user)->engine;
    bd_mailbox_rouse(core->letters);
    if (core->options.wake)
        core->options.wake(core->options.wake_user);
}

void bd_core_submit(bd_core *core, bd_session *session, bd_run *own_run)
{
    bd_run *run = own_run;
    run->session = session;
    run->charged_ns = run->known->last_run_ns;
    core->flight_count++;
    core->flight_ns += run->charged_ns;
    bd_turns_charge(&session->turn, BD_TURN_DEVICE, run->charged_ns);
    run->engine = core;
    run->next = NULL;
    if (core->flight_last)
        core->flight_last->next = run;
    else
        core->flight_first = run;
    core->flight_last = run;
    bd_count(&core->counters.launches, run->submission.launch_count);
    bd_buffer *arena = run->arena;
    run->arena = NULL;
    run->submission.done = run_done;
    run->submission.soon = run_soon;
    run->submission.user = run;
    /* Also without launches it ends what was copied to the device for it. */
    if (run->submission.launch_count || core->ops->copy_in) {
        core->submitting = true;
        run->submission.lends = core->ops->lend != NULL;
        core->ops->submit(core->device, &run->submission);
        core->submitting = false;
    } else {
        run->done = true;
    }
    bd_buffer_release(arena); /* numbered: later submissions may have it, the host not yet */
    retire_done(core);
}

/* ---- letters ---- */

static void open_session(bd_core *core, const bd_request *request)
{
    bd_account *account = bd_memory_account(core->memory, request->session);
    if (!account || bd_map_get(&core->sessions, request->session))
        return;
    bd_holder *holder = bd_names_join(core->names, request->name, request->quota);
    bd_session *session = bd_session_create(core, request->session, account, holder);
    session->only_calls = request->only_calls;
    bd_turns_join(core->turns, &session->turn, request->name);
    bd_map_put(&core->sessions, request->session, session);
    bd_count(&core->counters.sessions, 1);
}

static void drop_session(bd_core *core, bd_session *session)
{
    bd_turns_leave(core->turns, &session->turn);
    for (bd_run *run = core->flight_first; run; run = run->next)
        if (run->session == session) {
            run->session = NULL;
            atomic_store(&run->submission.cancelled, true);
        }
    bd_map_remove(&core->sessions, session->number);
    core->sessions_dropped = true;
    uint64_t number = session->number;
    bd_holder *holder = session->holder;
    bd_session_destroy(session);
    bd_names_leave(core->names, holder);
    bd_memory_close(core->memory, number);
    bd_count(&core->counters.sessions, UINT64_MAX);
}

static void take_request(bd_core *core, bd_posted *posted)
{
    bd_request *request = &posted->request;
    bd_session *session = bd_map_get(&core->sessions, request->session);
    if (request->kind == BD_REQUEST_SESSION_OPEN) {
        open_session(core, request);
        bd_request_destroy(request);
        return;
    }
    if (request->kind == BD_REQUEST_PROBE) {
        bd_request_destroy(request);
        bd_core_reply(core, new_reply(BD_REPLY_PROBED, 0, 0));
        return;
    }
    if (request->kind == BD_REQUEST_SESSION_CLOSE) {
        bd_reply *reply = new_reply(BD_REPLY_SESSION_CLOSED, request->session, request->request);
        bd_request_destroy(request);
        if (session)
            drop_session(core, session);
        bd_core_reply(core, reply);
        return;
    }
    if (!session) {
        bd_request_destroy(request);
        return;
    }
    bd_session_accept(session, posted);
    bd_core_make_ready(core, session);
}

static void wake_parked(bd_core *core)
{
    uint64_t number;
    void *value;
    for (size_t cursor = 0; bd_map_next(&core->sessions, &cursor, &number, &value);) {
        bd_session *session = value;
        if (session->waiting)
            bd_core_make_ready(core, session);
    }
}

/* True when the engine closes: what else was there is dropped. */
static bool take_letters(bd_core *core, bd_letter *letter)
{
    bool closes = false;
    while (letter) {
        bd_letter *next = letter->next;
        switch ((bd_letter_kind)((bd_kinded_letter *)letter)->kind) {
        case BD_LETTER_REQUEST:
            if (closes)
                bd_request_destroy(&((bd_posted *)letter)->request);
            else
                take_request(core, (bd_posted *)letter);
            break;
        case BD_LETTER_RUN:
            ((bd_run *)letter)->done = true;
            retire_done(core);
            break;
        case BD_LETTER_COMPILED:
            bd_histogram_add(&core->counters.compiled, ((bd_cached *)letter)->compile_us * 1000);
            if (!((bd_cached *)letter)->stale)
                bd_memory_note(core->memory, ((bd_cached *)letter)->job_error);
            bd_cache_finish((bd_cached *)letter);
            wake_parked(core);
            break;
        case BD_LETTER_CLOSE:
            closes = true;
            break;
        }
        letter = next;
    }
    return closes;
}

static void drop_sessions(bd_core *core)
{
    uint64_t number;
    void *session;
    size_t cursor = 0;
    while (bd_map_next(&core->sessions, &cursor, &number, &session)) {
        drop_session(core, session);
        cursor = 0;
    }
}

static void call_back(void *user)
{
    bd_core *core = user;
    core->ops->call(core->device);
}

/* What came, after timeout_us at the latest, as bd_mailbox_take_all. Until then this thread works
 * for the device. */
static bd_letter *await_letters(bd_core *core, int64_t timeout_us)
{
    if (core->flight_first && core->ops->lend) {
        const atomic_bool *filled = bd_mailbox_leave(core->letters);
        core->ops->lend(core->device, filled);
        bd_mailbox_return(core->letters);
    }
    return bd_mailbox_take_all(core->letters, timeout_us);
}

/* The plans that the backend has are finished, nothing else is. */
static void wind_up(bd_core *core)
{
    drop_sessions(core);
    while (core->flight_first)
        take_letters(core, await_letters(core, -1));
    drop_sessions(core); /* opened meanwhile */
    bd_names_clear(core->names);
    bd_spoils_clear(&core->spoils);
}

static void flush_credits(bd_core *core)
{
    uint64_t number;
    void *session;
    for (size_t cursor = 0; bd_map_next(&core->sessions, &cursor, &number, &session);)
        bd_session_flush_credit(session);
}

static void tell_loss(bd_core *core, const bd_error *error, const bd_error *loss)
{
    bd_log(BD_LOG_ERROR, "engine", "the device cannot be opened again: %s", bd_error_text(error));
    bd_reply *reply = new_reply(BD_REPLY_LOST, 0, 0);
    reply->error = BD_ERROR(DEVICE_LOST, "the device is lost and cannot be opened again; %s",
                            bd_error_text(loss));
    bd_core_reply(core, reply);
}

/* What lay on the device is poisoned, what comes from now on runs again. If the device cannot be
 * opened, the next submission fails, too, and leads here again. */
static void begin_anew(bd_core *core)
{
    bd_cache_lose(core->cache);
    bd_error *loss = bd_memory_lose(core->memory);
    bd_error *error = core->ops->reopen(core->device);
    bd_memory_renew(core->memory);
    bd_cache_renew(core->cache);
    bool was_gone = atomic_exchange(&core->counters.device_is_gone, error != NULL);
    bd_count(&core->counters.restarts, !error);
    if (error && !was_gone)
        tell_loss(core, error, loss);
    if (!error)
        bd_log(BD_LOG_WARN, "engine", "the device is open again; %s", bd_error_text(loss));
    bd_error_free(error);
    bd_error_free(loss);
}

static void *device_thread(void *user)
{
    bd_core *core = user;
    core->device_thread = pthread_self();
    pthread_setname_np(core->device_thread, "burn-device");
    bool idle_done = false;
    for (;;) {
        if (bd_memory_is_lost(core->memory) && !core->flight_first)
            begin_anew(core);
        bd_throttle_advance(core);
        int64_t idle_us = any_turn(core) ? 0 : idle_done ? -1 : BD_IDLE_US;
        int64_t wait_us = bd_throttle_wait_us(core, idle_us);
        bd_letter *letters =
            wait_us ? await_letters(core, wait_us) : bd_mailbox_take_all(core->letters, 0);
        if (letters) {
            idle_done = false;
            if (take_letters(core, letters))
                break;
        } else if (wait_us == idle_us && !any_turn(core) && !core->flight_first) {
            flush_credits(core);
            bd_memory_trim(core->memory);
            if (core->sessions_dropped)
                bd_alloc_trim();
            core->sessions_dropped = false;
            idle_done = true;
        }
        take_turn(core);
    }
    wind_up(core);
    return NULL;
}

/* ---- life ---- */

static void release_known(bd_known *known)
{
    bd_known_release(known);
}

static void destroy_core(bd_core *core)
{
    bd_cache_stop(core->cache);
    for (bd_letter *letter; (letter = bd_mailbox_take(core->letters));)
        if (((bd_kinded_letter *)letter)->kind == BD_LETTER_REQUEST)
            bd_request_destroy(&((bd_posted *)letter)->request);
    bd_trie_destroy(core->trie);
    bd_cache_destroy(core->cache);
    for (bd_letter *letter; (letter = bd_mailbox_take(core->replies));)
        bd_reply_destroy(&((bd_posted_reply *)letter)->reply);
    bd_map_deinit(&core->sessions);
    bd_names_destroy(core->names);
    bd_turns_destroy(core->turns);
    bd_arena_deinit(&core->scratch);
    if (bd_memory_destroy(core->memory))
        core->ops->close(core->device);
    else
        bd_log(BD_LOG_ERROR, "engine", "closed while buffers are in use; their memory is left");
    bd_mailbox_destroy(core->letters); /* a worker may have been on its way out of a push */
    bd_mailbox_destroy(core->replies);
}

bd_error *bd_engine_open(const bd_engine_options *options, bd_engine **out)
{
    const bd_driver *driver = bd_driver_find(options->driver);
    if (!driver)
        BD_FAIL(NOT_FOUND, "there is no device \"%s\"", options->driver);
    char reason[256] = "";
    if (!driver->probe(reason, sizeof reason))
        BD_FAIL(UNAVAILABLE, "device \"%s\" cannot be used: %s", options->driver, reason);
    bd_device *device = NULL;
    BD_TRY_NOTE(driver->open(&options->device, &device), "device \"%s\"", options->driver);

    bd_engine *engine = bd_alloc_zeroed(sizeof *engine);
    bd_core *core = &engine->core;
    engine->close.kind = BD_LETTER_CLOSE;
    core->ops = driver->ops;
    core->device = device;
    core->options = *options;
    core->plan_options = (bd_plan_options){.fusion = options->fusion,
                                             .spares_reads = driver->ops->spares_reads};
    bd_device_facts facts;
    core->ops->describe(device, &facts);
    /* Other programs live, too. */
    uint64_t bytes_max =
        options->memory_bytes_max ? options->memory_bytes_max : facts.memory_bytes / 8 * 7;
    core->letters = bd_mailbox_create();
    bd_mailbox_set_call(core->letters, call_back, core);
    core->replies = bd_mailbox_create();
    core->memory = bd_memory_create(core->ops, device, bytes_max, options->session_bytes_max);
    core->turns = bd_turns_create();
    core->names = bd_names_create(core->memory, options->names_max);
    int threads = options->compile_threads;
    if (threads == 0 && core->ops->copy_in) /* the host has nothing else to do */
        threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    core->cache = bd_cache_create(core->ops, device, threads, core->letters);
    core->trie = bd_trie_create(BD_KNOWN_PLANS_MAX, BD_KNOWN_BYTES_MAX, release_known);
    bd_arena_init(&core->scratch);
    if (pthread_create(&core->thread, NULL, device_thread, core) != 0) {
        destroy_core(core);
        bd_free(engine);
        BD_FAIL(NO_MEMORY, "the device thread cannot be started");
    }
    *out = engine;
    return NULL;
}

void bd_engine_close(bd_engine *engine)
{
    if (!engine)
        return;
    bd_mailbox_push(engine->core.letters, &engine->close.letter);
    pthread_join(engine->core.thread, NULL);
    destroy_core(&engine->core);
    bd_free(engine);
}
