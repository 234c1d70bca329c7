/* SPDX-License-Identifier: Apache-2.0
 * Where a trace ends: it is looked up among the known ones or becomes a new plan, is bound to this
 * arrival and handed over; its surviving values become tensors with memory. Thread: device. */
#include "engine/core.h"
#include "engine/history.h"
#include "engine/session.h"
#include "engine/throttle.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

enum {
    ATTEMPTS_MAX = 4,
    ATTEMPT_RECORDS_MAX = 65536,
    /* Free memory that makes room while a record is analysed and compiled; it is touched anew in
     * no more time than that takes. */
    ROOM_BYTES_A_RECORD = 512 << 10,
    ROOM_RECORDS_MAX = 256,
};

static void forget_trace(bd_session *session)
{
    bd_tracer_reset(&session->tracer);
    session->cursor = NULL;
    bd_known_release(session->waiting);
    session->waiting = NULL;
    session->compile_held_ns = 0;
}

/* All that survives the trace is spoiled. */
static void poison_survivors(bd_session *session, bd_error *error)
{
    const bd_tracer *tracer = &session->tracer;
    for (size_t i = 0; i < tracer->values.count; i++)
        if (tracer->values.items[i].survives)
            bd_tensor_poison(bd_tensors_find(&session->tensors, tracer->ids.items[i]), error);
    bd_session_note_error(session, error);
}

static bd_known *look_up(bd_session *session)
{
    const bd_tracer *tracer = &session->tracer;
    bd_trie *trie = session->core->trie;
    bd_trie_node *node = session->cursor;
    if (!node || session->cursor_generation != bd_trie_generation(trie))
        node = bd_trie_walk(trie, tracer->key.items, tracer->ends.items, tracer->ends.count);
    return node ? bd_trie_find(trie, node, tracer->tail.items, tracer->tail.count) : NULL;
}

static bd_error *analyse(bd_session *session, const bd_trace *trace, bd_known **out)
{
    bd_core *core = session->core;
    const bd_tracer *tracer = &session->tracer;
    bd_plan *plan = NULL;
    bd_count(&core->counters.analyses, 1);
    size_t records = trace->record_count < ROOM_RECORDS_MAX ? trace->record_count
                                                            : ROOM_RECORDS_MAX;
    bd_memory_make_room(core->memory, records * ROOM_BYTES_A_RECORD);
    BD_TRY(bd_plan_build(trace, &core->plan_options, &plan));
    plan->serial = ++core->next_plan;
    *out = bd_known_create(plan, trace, core->cache);
    bd_trie_insert(core->trie, tracer->key.items, tracer->ends.items, tracer->ends.count,
                   tracer->tail.items, tracer->tail.count, bd_known_retain(*out),
                   bd_known_bytes(*out));
    atomic_store_explicit(&core->counters.known_plans, bd_trie_plan_count(core->trie),
                          memory_order_relaxed);
    return NULL;
}

/* A record that cannot be planned spoils what is made from it; the others run without it.
 * False if the error names no record. */
static bool leave_out(bd_session *session, bd_error *error)
{
    bd_tracer *tracer = &session->tracer;
    uint64_t op_index = bd_error_op_index(error);
    size_t blamed = 0;
    while (blamed < tracer->records.count && tracer->records.items[blamed].op_index != op_index)
        blamed++;
    if (!op_index || blamed == tracer->records.count)
        return false;
    uint8_t *spoiled = bd_alloc_zeroed(tracer->values.count + 1);
    bd_tracer_leave_out(tracer, (uint32_t)blamed, spoiled);
    for (size_t i = 0; i < tracer->values.count; i++)
        if (spoiled[i] && tracer->values.items[i].survives)
            bd_tensor_poison(bd_tensors_find(&session->tensors, tracer->ids.items[i]), error);
    bd_tracer_compact(tracer, spoiled);
    for (size_t i = 0; i < tracer->values.count; i++)
        if (tracer->values.items[i].survives)
            bd_tensors_find(&session->tensors, tracer->ids.items[i])->value = (uint32_t)i;
    session->cursor = NULL;
    bd_free(spoiled);
    bd_session_note_error(session, error);
    return true;
}

/* How often a trace is analysed again without a record that spoilt it: each time costs the other
 * sessions theirs. */
static uint32_t attempts_of(const bd_tracer *tracer)
{
    size_t fit = ATTEMPT_RECORDS_MAX / (tracer->records.count + 1);
    return fit < 1 ? 1 : fit > ATTEMPTS_MAX ? ATTEMPTS_MAX : (uint32_t)fit;
}

static void give_up(bd_session *session, bd_error *error)
{
    poison_survivors(session, error);
    session->tracer.surviving = 0;
}

void bd_session_compile(bd_session *session)
{
    bd_error *error = bd_throttle_compile(session);
    if (!error)
        return;
    poison_survivors(session, error);
    forget_trace(session);
    bd_error_free(error);
}

/* At once, or else its turn will come. */
static void go_on(bd_session *session)
{
    bd_session_compile(session);
    if (session->waiting && bd_core_is_free(session->core))
        bd_session_resume(session);
}

/* Looks the trace up, or plans it, without what cannot be planned. */
static void plan_trace(bd_session *session)
{
    bd_tracer *tracer = &session->tracer;
    while (tracer->surviving) {
        bd_trace trace;
        bd_tracer_finish(tracer, &trace);
        bd_known *known = look_up(session);
        session->waiting_is_known = known != NULL;
        if (known) {
            session->waiting = bd_known_retain(known);
            bd_known_retry(known, session->core->cache);
            go_on(session);
            return;
        }
        bd_error *error = analyse(session, &trace, &session->waiting);
        if (!error) {
            go_on(session);
            return;
        }
        if (session->attempts == 0) {
            uint64_t op_index = bd_error_op_index(error);
            error = bd_error_note(error, "too many ops between two reads cannot be planned, "
                                         "none of them is run");
            bd_error_set_op_index(error, op_index);
            give_up(session, error);
        } else {
            session->attempts--;
            if (!leave_out(session, error))
                give_up(session, error);
        }
        bd_error_free(error);
    }
    forget_trace(session);
}

void bd_session_cut(bd_session *session)
{
    BD_ASSERT(!session->waiting);
    session->attempts = attempts_of(&session->tracer);
    if (session->tracer.records.count)
        bd_count(&session->core->counters.cuts, 1);
    plan_trace(session);
}

/* ---- handing over ---- */

/* Surviving values become stored tensors. */
static void store_outputs(bd_session *session, bd_run *run)
{
    const bd_plan *plan = run->known->plan;
    const bd_tracer *tracer = &session->tracer;
    bd_core *core = session->core;
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const bd_plan_output *output = &plan->outputs[i];
        bd_tensor *tensor = bd_tensors_find(&session->tensors, tracer->ids.items[output->value]);
        BD_ASSERT(tensor && tensor->state == BD_TENSOR_VALUE);
        bd_tensor_store(tensor, &tracer->values.items[output->value].type, run->outputs[i],
                        ++core->next_tensor);
        run->outputs[i] = NULL;
        if (!run->history)
            continue;
        if (output->tracked) {
            tensor->stored->history = bd_history_retain(run->history);
            tensor->stored->history_node = output->node;
        }
        /* What the history kept of a surviving value is that value's tensor: a later grad may ask
         * for it. */
        for (uint32_t k = 0; k < plan->saved_count; k++)
            if (plan->saved[k].node == output->node)
                run->history->saved[k].tensor = tensor->stored->tensor;
    }
    bd_history_release(run->history);
    run->history = NULL;
}

static bd_error *hand_over(bd_session *session)
{
    bd_core *core = session->core;
    bd_trace trace;
    bd_tracer_finish(&session->tracer, &trace);
    bd_binding binding = {
        .ops = core->ops,
        .device = core->device,
        .memory = core->memory,
        .account = session->account,
        .trace = &trace,
        .buffers = session->tracer.buffers.items,
        .next_tensor = &core->next_tensor,
    };
    bd_run *run = NULL;
    BD_TRY(bd_run_bind(session->waiting, &binding, &run));
    bd_fault_poison_bound(run);
    if (session->waiting_is_known)
        bd_count(&core->counters.replays, 1);
    if (run->known->plan->unfused)
        bd_count(&core->counters.fallbacks, 1);
    run->order = ++core->submitted;
    bd_memory_set_submitted(core->memory, run->order);
    for (uint32_t i = 0; i < run->known->plan->output_count; i++)
        if (run->outputs[i]->ready < run->order &&
            run->known->group_of[run->known->plan->outputs[i].buffer] != BD_PLAN_NONE)
            run->outputs[i]->ready = run->order;
    store_outputs(session, run);
    forget_trace(session);
    session->in_flight++;
    session->last_order = run->order;
    bd_core_submit(core, session, run);
    return NULL;
}

/* Memory is short: the op of the largest value is the likeliest cause. */
static bd_error *name_largest(const bd_session *session, bd_error *own_error)
{
    const bd_tracer *tracer = &session->tracer;
    const bd_trace_value *largest = NULL;
    size_t most = 0;
    for (size_t i = 0; i < tracer->values.count; i++) {
        const bd_trace_value *value = &tracer->values.items[i];
        size_t bytes =
            (size_t)burn_shape_elements(&value->type.shape) * burn_dtype_size(value->type.dtype);
        if (largest && bytes <= most)
            continue;
        largest = value;
        most = bytes;
    }
    if (!largest || bd_error_op_index(own_error))
        return own_error;
    const bd_trace_record *record = &tracer->records.items[largest->record];
    own_error = bd_error_note(own_error, "%s", record->info->name);
    bd_error_set_op_index(own_error, record->op_index);
    return own_error;
}

/* There is no memory for the trace: it is tried again without the op to blame. */
static bool try_without(bd_session *session, bd_error *error)
{
    if (session->attempts == 0)
        return false;
    session->attempts--;
    if (!leave_out(session, error))
        return false;
    bd_known_release(session->waiting);
    session->waiting = NULL;
    plan_trace(session);
    return true;
}

void bd_session_resume(bd_session *session)
{
    bd_error *error = NULL;
    if (!bd_known_ready(session->waiting, &error))
        return;
    bool planned = error == NULL;
    if (!planned)
        error = bd_error_retain(error);
    else if ((error = hand_over(session)))
        error = name_largest(session, error);
    if (!error)
        return;
    if (!planned || !try_without(session, error)) {
        poison_survivors(session, error);
        forget_trace(session);
    }
    bd_error_free(error);
}

void bd_session_abandon(bd_session *session, bd_error *error)
{
    if (session->tracer.records.count) {
        uint64_t first = session->tracer.records.items[0].op_index;
        if (!bd_error_op_index(error))
            bd_error_set_op_index(error, first);
        poison_survivors(session, error);
    }
    forget_trace(session);
}

void bd_session_finish_run(bd_session *session, bd_run *run)
{
    BD_ASSERT(session->in_flight > 0);
    session->in_flight--;
    bd_core *core = session->core;
    bd_error *fault = bd_fault_settle(&core->spoils, run, core->memory, session->account);
    if (fault)
        bd_session_note_error(session, fault);
    bd_error_free(fault);
}
