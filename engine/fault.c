/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/fault.h"

#include <inttypes.h>

#include "proto/base/alloc.h"

void bd_spoils_clear(bd_spoils *spoils)
{
    uint64_t serial;
    void *error;
    for (size_t cursor = 0; bd_map_next(&spoils->errors, &cursor, &serial, &error);)
        bd_error_free(error);
    bd_map_deinit(&spoils->errors);
}

/* ---- what went wrong ---- */

/* Of the submission as a whole; or NULL. */
static bd_error *whole_error(const bd_run *run)
{
    if (run->dropped)
        return BD_ERROR(CANCELLED, "the work of the session was cancelled");
    return run->submission.error ? bd_error_retain(run->submission.error) : NULL;
}

static bd_error *index_error(const bd_run *run, uint32_t number, bool wraps, const bd_fault *fault)
{
    bool known = number < run->known->record_count;
    const char *name = known ? run->known->records[number].info->name : "kernel";
    bd_error *error =
        fault->extent > 0
            ? BD_ERROR(INVALID,
                       "%s: index %" PRId64 " is out of range: %" PRId64 " to %" PRId64
                       " would be right",
                       name, fault->position, wraps ? -fault->extent : 0, fault->extent - 1)
            : BD_ERROR(INVALID,
                       "%s: index %" PRId64 " is out of range: the dimension has no elements",
                       name, fault->position);
    if (known)
        bd_error_set_op_index(error, run->op_indices[number]);
    return error;
}

/* By record, owned: what its checks found; NULL if none found anything. What a check of no record
 * (of a history) found is an error of the whole. */
static bd_error **list_blames(const bd_run *run, bd_error **out_whole)
{
    const bd_known *known = run->known;
    bd_error **blames = NULL;
    for (uint32_t i = 0; known->fault_count && i < run->submission.launch_count; i++) {
        const bd_plan_launch *launch = &known->plan->launches[run->launch_numbers[i]];
        const bd_fault *faults = run->faults + run->launches[i].first_fault;
        for (uint32_t tag = 0; tag < launch->fault_count; tag++) {
            uint32_t number = launch->fault_records[tag] & ~BD_FAULT_WRAPS;
            bool wraps = launch->fault_records[tag] & BD_FAULT_WRAPS;
            if (!faults[tag].happened)
                continue;
            if (!blames)
                blames = bd_alloc_zeroed(known->record_count * sizeof *blames);
            bd_error **blame = number < known->record_count ? &blames[number] : out_whole;
            if (!*blame)
                *blame = index_error(run, number, wraps, &faults[tag]);
        }
    }
    return blames;
}

static void free_blames(bd_error **own_blames, uint32_t count)
{
    for (uint32_t i = 0; own_blames && i < count; i++)
        bd_error_free(own_blames[i]);
    bd_free(own_blames);
}

/* ---- spreading ---- */

typedef struct spread_result {
    bd_error **values; /* by trace value: what spoils it, or NULL */
    bd_error *any;
} spread_result;

/* Errors of slots and of records (blames may be NULL) reach all values made from them. */
static spread_result spread_errors(const bd_known *known, bd_error *const *slots,
                                   bd_error *const *blames)
{
    spread_result spread = {.values =
                                bd_alloc_zeroed((known->value_count + 1) * sizeof(bd_error *))};
    for (uint32_t i = 0; i < known->record_count; i++) {
        const bd_known_record *record = &known->records[i];
        bd_error *error = NULL;
        for (uint32_t k = 0; !error && k < record->input_count; k++) {
            const bd_input *input = &record->inputs[k];
            if (input->kind == BD_INPUT_VALUE)
                error = spread.values[input->number];
            else if (input->kind == BD_INPUT_EXTERNAL)
                error = slots[input->number];
        }
        if (!error && blames)
            error = blames[i];
        for (uint32_t k = 0; error && k < record->output_count; k++)
            spread.values[record->first_value + k] = error;
        if (error)
            spread.any = error;
    }
    return spread;
}

static bd_error *output_error(const spread_result *spread, const bd_plan_output *output)
{
    return spread->values[output->value];
}

/* A saved node is as spoiled as the record that it stems from. */
static bd_error *saved_error(const spread_result *spread, const bd_known *known,
                             const bd_plan_output *saved)
{
    uint32_t record = bd_graph_at(known->plan->graph, saved->node)->record;
    if (record >= known->record_count)
        return spread->any;
    const bd_known_record *source = &known->records[record];
    return source->output_count ? spread->values[source->first_value] : spread->any;
}

static bool is_external(const bd_plan *plan, const bd_plan_output *output)
{
    return plan->buffers[output->buffer].kind == BD_BUFFER_EXTERNAL;
}

static void poison(bd_buffer *buffer, bd_error *error)
{
    if (error && !buffer->error)
        buffer->error = bd_error_retain(error);
}

void bd_fault_poison_bound(bd_run *run)
{
    if (!run->slot_spoiled)
        return;
    const bd_known *known = run->known;
    const bd_plan *plan = known->plan;
    spread_result spread = spread_errors(known, run->slot_errors, NULL);
    for (uint32_t i = 0; i < plan->output_count; i++)
        if (!is_external(plan, &plan->outputs[i]))
            poison(run->outputs[i], output_error(&spread, &plan->outputs[i]));
    for (uint32_t i = 0; run->history && i < plan->saved_count; i++)
        if (!is_external(plan, &plan->saved[i]))
            poison(run->history->saved[i].buffer, saved_error(&spread, known, &plan->saved[i]));
    bd_free(spread.values);
}

/* ---- finished runs ---- */

static bool note_earlier_spoils(const bd_spoils *spoils, bd_run *run)
{
    if (!spoils->errors.count)
        return run->slot_spoiled;
    for (uint32_t i = 0; i < run->known->slot_count; i++) {
        bd_error *error = bd_map_get(&spoils->errors, run->slot_serials[i]);
        if (!error || run->slot_errors[i])
            continue;
        run->slot_errors[i] = bd_error_retain(error);
        run->slot_spoiled = true;
    }
    uint32_t count = 0;
    const bd_graph_external *externals = bd_graph_externals(run->known->plan->graph, &count);
    for (uint32_t i = 0; i < count; i++) {
        bd_error *error = bd_map_get(&spoils->errors, run->external_serials[i]);
        if (!error || run->slot_errors[externals[i].slot])
            continue;
        run->slot_errors[externals[i].slot] = bd_error_retain(error);
        run->slot_spoiled = true;
    }
    return run->slot_spoiled;
}

static void add_spoil(bd_spoils *spoils, uint64_t serial, bd_error *error)
{
    if (error && !bd_map_get(&spoils->errors, serial))
        bd_map_put(&spoils->errors, serial, bd_error_retain(error));
}

static void poison_if_spoiled(bd_buffer *buffer, void *user)
{
    const bd_spoils *spoils = user;
    poison(buffer, bd_map_get(&spoils->errors, buffer->serial));
}

static bd_error *first_error(bd_error *const *blames, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && !blames[i])
        i++;
    return i < count ? bd_error_retain(blames[i]) : NULL;
}

bd_error *bd_fault_settle(bd_spoils *spoils, bd_run *run, bd_memory *memory, bd_account *account)
{
    const bd_known *known = run->known;
    const bd_plan *plan = known->plan;
    bd_error *whole = whole_error(run), **blames = whole ? NULL : list_blames(run, &whole);
    if (!note_earlier_spoils(spoils, run) && !whole && !blames)
        return NULL;
    spread_result spread = spread_errors(known, run->slot_errors, blames);
    for (uint32_t i = 0; i < plan->output_count; i++)
        if (!is_external(plan, &plan->outputs[i]))
            add_spoil(spoils, run->output_serials[i],
                      whole ? whole : output_error(&spread, &plan->outputs[i]));
    for (uint32_t i = 0; i < plan->saved_count; i++)
        if (run->saved_serials[i] && !is_external(plan, &plan->saved[i]))
            add_spoil(spoils, run->saved_serials[i],
                      whole ? whole : saved_error(&spread, known, &plan->saved[i]));
    bd_free(spread.values);
    if (account)
        bd_memory_visit(memory, account, poison_if_spoiled, spoils);
    if (blames && !whole)
        whole = first_error(blames, known->record_count);
    free_blames(blames, known->record_count);
    return whole;
}
