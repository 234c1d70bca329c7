/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/gemm.h"

#include <unistd.h>

#include "backends/cpu/gemm_parts.h"
#include "backends/cpu/loop.h"
#include "backends/cpu/window.h"
#include "proto/base/alloc.h"

enum { NEAR_WAYS_LEAST = 8 }; /* also where the system does not know */

const bd_kir_phase *bd_gemm_phase(const bd_kir *program, bd_kir_phase_kind kind)
{
    for (int p = 0; p < program->phase_count; p++)
        if (program->phases[p].kind == kind)
            return &program->phases[p];
    return NULL;
}

static bool has_several(const bd_kir *program, bd_kir_role role)
{
    int count = 0;
    for (int axis = 0; axis < program->axis_count; axis++)
        count += program->axes[axis].role == role;
    return count > 1;
}

burn_dtype bd_gemm_sum_of(const bd_kir *program, bd_kir_phase_kind kind)
{
    const bd_kir_phase *phase = bd_gemm_phase(program, kind);
    if (!phase || phase->count == 0)
        return BURN_DTYPE_NONE;
    return bd_kir_accumulator((burn_dtype)program->instrs[phase->first + phase->count - 1].dtype);
}

bool bd_gemm_fits(const bd_kir *program)
{
    burn_dtype type = bd_gemm_sum_of(program, BD_KIR_OPERAND_A);
    return program->family == BD_KIR_CONTRACTION && (type == BURN_F32 || type == BURN_F64);
}

burn_dtype bd_gemm_sum(const bd_kir *program)
{
    return bd_gemm_sum_of(program, BD_KIR_OPERAND_A) == BURN_F64 ? BURN_F64 : BURN_F32;
}

static bool yields_bf16(const bd_kir *program, bd_kir_phase_kind kind)
{
    const bd_kir_phase *phase = bd_gemm_phase(program, kind);
    return program->instrs[phase->first + phase->count - 1].dtype == BURN_BF16;
}

burn_dtype bd_gemm_element_of(const bd_target *target, const bd_kir *program, bd_kir_phase_kind a,
                              bd_kir_phase_kind b)
{
    bool narrow = target->bf16 && yields_bf16(program, a) && yields_bf16(program, b);
    return narrow ? BURN_BF16 : bd_gemm_sum_of(program, a);
}

burn_dtype bd_gemm_element(const bd_target *target, const bd_kir *program)
{
    return bd_gemm_element_of(target, program, BD_KIR_OPERAND_A, BD_KIR_OPERAND_B);
}

/* Whether an operand is the elements of one buffer, those that a guard leaves out 0. */
static bool loads_only(const bd_target *target, const bd_kir *program, bd_kir_phase_kind kind)
{
    const bd_kir_phase *phase = bd_gemm_phase(program, kind);
    const bd_kir_instr *load = &program->instrs[phase->first];
    return phase->count == 2 && load->code == BD_KIR_LOAD &&
           (burn_dtype)load->dtype == bd_gemm_element(target, program);
}

bool bd_gemm_may_walk(const bd_target *target, const bd_kir *program, bd_kir_phase_kind kind,
                      bd_gemm_walk walk)
{
    int rows = bd_kir_axis_of(program, kind == BD_KIR_OPERAND_A ? BD_KIR_M : BD_KIR_N);
    int k = bd_kir_axis_of(program, BD_KIR_K);
    const bd_kir_phase *phase = bd_gemm_phase(program, kind);
    bool along_k = false, across_k = false;
    bool apart = kind == BD_KIR_OPERAND_B && bd_gemm_has_windows(target, program) &&
                 bd_gemm_element(target, program) == BURN_BF16; /* strides may be arguments */
    for (int i = phase->first; i < phase->first + phase->count && rows >= 0; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        if (instr->code != BD_KIR_LOAD && instr->code != BD_KIR_LOAD_AT)
            continue;
        const bd_kir_access *access = &program->accesses[instr->index];
        across_k = across_k || bd_kir_int_is(access->strides[rows], 1) ||
                   (apart && access->strides[rows].argument >= 0);
        along_k = along_k || bd_kir_int_is(access->strides[k], 1) ||
                  (apart && access->strides[k].argument >= 0);
    }
    bool alone = walk == BD_GEMM_ALONG_K ? rows < 0 : rows >= 0 && !along_k;
    return alone || (walk == BD_GEMM_ALONG_K ? along_k : across_k);
}

const char *bd_gemm_pack_name(bd_kir_phase_kind kind, bd_gemm_walk walk)
{
    static const char *const names[2][BD_GEMM_WALKS] = {{"pa", "pak"}, {"pb", "pbk"}};
    return names[kind == BD_KIR_OPERAND_B][walk];
}

bool bd_gemm_plain(const bd_target *target, const bd_kir *program, bd_kir_phase_kind kind)
{
    return loads_only(target, program, kind) &&
           program->instrs[bd_gemm_phase(program, kind)->first].guard < 0;
}

bool bd_gemm_has_windows(const bd_target *target, const bd_kir *program)
{
    return loads_only(target, program, BD_KIR_OPERAND_B) && has_several(program, BD_KIR_K) &&
           bd_kir_axis_of(program, BD_KIR_N) >= 0;
}

bool bd_gemm_may_loop(const bd_target *target, const bd_kir *program)
{
    return bd_gemm_has_windows(target, program) && has_several(program, BD_KIR_BATCH);
}

static bool uses_batch(const bd_kir *program, const bd_kir_int *strides)
{
    for (int axis = 0; axis < program->axis_count; axis++)
        if (program->axes[axis].role == BD_KIR_BATCH && !bd_kir_int_is(strides[axis], 0))
            return true;
    return false;
}

bool bd_gemm_packs(const bd_target *target, const bd_kir *program, bd_kir_phase_kind kind)
{
    return !bd_gemm_plain(target, program, kind) || has_several(program, BD_KIR_K) ||
           has_several(program, kind == BD_KIR_OPERAND_A ? BD_KIR_M : BD_KIR_N);
}

static uint32_t batch_axes(const bd_kir *program)
{
    return bd_kir_domain(program, BD_KIR_OPERAND_A) & bd_kir_domain(program, BD_KIR_OPERAND_B) &
           bd_kir_domain(program, BD_KIR_EPILOGUE);
}

static bool is_batched(const bd_kir *program, const bd_kir_phase *phase)
{
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        bool memory = instr->code == BD_KIR_LOAD || instr->code == BD_KIR_LOAD_AT;
        int guard = instr->code == BD_KIR_GUARD ? instr->index : memory ? instr->guard : -1;
        if (instr->code == BD_KIR_INDEX && program->axes[instr->index].role == BD_KIR_BATCH)
            return true;
        if (memory && uses_batch(program, program->accesses[instr->index].strides))
            return true;
        if (guard >= 0 && (bd_kir_guard_axes(program, guard) & batch_axes(program)))
            return true;
    }
    return false;
}

/* False if the object lacks a pack function. */
static bool find_packs(const bd_gemm *gemm, bd_kir_phase_kind kind, bd_gemm_operand *out)
{
    bool packs = bd_gemm_packs(&gemm->target, gemm->program, kind);
    for (bd_gemm_walk walk = 0; walk < BD_GEMM_WALKS; walk++) {
        out->walks[walk] = bd_gemm_may_walk(&gemm->target, gemm->program, kind, walk);
        if (!packs || !out->walks[walk])
            continue;
        void *symbol = bd_code_symbol(gemm->base.code, bd_gemm_pack_name(kind, walk));
        out->pack[walk] = (bd_pass_function)(uintptr_t)symbol;
        if (!symbol)
            return false;
    }
    return true;
}

static bool describe_operand(const bd_gemm *gemm, bd_kir_phase_kind kind, bd_gemm_operand *out)
{
    const bd_kir *program = gemm->program;
    const bd_kir_phase *phase = bd_gemm_phase(program, kind);
    const bd_kir_instr *load = &program->instrs[phase->first];
    out->batched = is_batched(program, phase);
    out->plain = bd_gemm_plain(&gemm->target, program, kind);
    if (loads_only(&gemm->target, program, kind))
        out->access = program->accesses[load->index];
    return find_packs(gemm, kind, out);
}

/* False if the object lacks the function. */
static bool describe_epilogue(bd_gemm *gemm)
{
    const bd_kir *program = gemm->program;
    const bd_kir_phase *phase = bd_gemm_phase(program, BD_KIR_EPILOGUE);
    const bd_kir_instr *acc = &program->instrs[phase->first], *store = acc + 1;
    gemm->epilogue = (bd_pass_function)(uintptr_t)bd_code_symbol(gemm->base.code, "ep");
    gemm->plain_store = phase->count == 2 && acc->code == BD_KIR_ACC &&
                        store->code == BD_KIR_STORE && store->flags == BD_KIR_SET &&
                        store->guard < 0;
    if (gemm->plain_store)
        gemm->out = program->accesses[store->index];
    return gemm->epilogue != NULL;
}

double bd_gemm_nanoseconds(const bd_gemm *gemm, double flops)
{
    return flops / ((gemm->row_unit > 1 ? 8.0 : 1.5) * (double)gemm->lanes * 4.0);
}

/* Whether the form as loops does it: a row alone has too few products for a copy of its windows. */
static bool runs_as_loops(const bd_gemm *gemm, const int64_t *ints)
{
    enum { LOOPS_K_MOST = 128 };
    int64_t sizes[BD_KIR_K + 1];
    if (!gemm->loops)
        return false;
    bd_gemm_sizes(gemm, ints, sizes);
    return sizes[BD_KIR_M] == 1 && sizes[BD_KIR_K] <= LOOPS_K_MOST;
}

static int plan(const bd_kernel *kernel, const int64_t *ints, bd_arena *arena, bd_pass *out_passes,
                bd_scratch *out_scratch)
{
    const bd_gemm *gemm = (const bd_gemm *)kernel;
    if (runs_as_loops(gemm, ints))
        return gemm->loops->ops->plan(gemm->loops, ints, arena, out_passes, out_scratch);
    const bd_window_shape *dots = bd_window_dots_of(gemm, ints, arena);
    if (dots) {
        *out_scratch = (bd_scratch){dots->worker_bytes, dots->shared_bytes};
        return bd_window_dots_plan(gemm, dots, out_passes);
    }
    const bd_window_shape *windows = bd_window_shape_of(gemm, ints, arena);
    if (windows) {
        *out_scratch = (bd_scratch){windows->worker_bytes, windows->shared_bytes};
        return bd_window_plan(gemm, windows, out_passes);
    }
    const bd_gemm_shape *shape = bd_gemm_shape_of(gemm, ints, arena);
    *out_scratch = (bd_scratch){shape->worker_bytes, shape->shared_bytes};
    if (shape->batch == 0 || shape->m == 0 || shape->n == 0)
        return 0;
    int count = 0;
    int64_t packs =
        shape->rows.batches * shape->rows.parts + shape->columns.batches * shape->columns.parts;
    bd_pass pass = {.params = {(int64_t)(intptr_t)gemm, (int64_t)(intptr_t)shape}};
    if (packs > 0) {
        pass.run = bd_gemm_run_pack;
        pass.item_count = packs;
        double a = shape->rows.parts ? (double)(shape->rows.batches * shape->m) : 0.0;
        double b = shape->columns.parts ? (double)(shape->columns.batches * shape->n) : 0.0;
        pass.item_ns = 0.25 * (a + b) * (double)shape->k / (double)packs;
        out_passes[count++] = pass;
    }
    pass.run = bd_gemm_run_tiles;
    pass.item_count = shape->batch * shape->splits * shape->rows.blocks * shape->columns.blocks;
    double cells = (double)shape->rows.block * (double)shape->columns.block;
    pass.item_ns = bd_gemm_nanoseconds(gemm, 2.0 * cells * (double)shape->split_k) + cells;
    if (shape->thin) /* ten bytes a nanosecond */
        pass.item_ns = (double)(shape->columns.block * shape->split_k * gemm->element_bytes) / 10.0;
    out_passes[count++] = pass;
    if (shape->splits > 1) {
        pass.run = bd_gemm_run_sums;
        pass.item_count = shape->batch * shape->m;
        pass.item_ns = 0.2 * (double)shape->n * (double)shape->splits + 50.0;
        out_passes[count++] = pass;
    }
    return count;
}

static void destroy(bd_kernel *kernel)
{
    bd_gemm *gemm = (bd_gemm *)kernel;
    if (gemm->loops)
        gemm->loops->ops->destroy(gemm->loops);
    bd_arena_deinit(&gemm->arena);
    bd_free(gemm);
}

static bd_error *add_loops(bd_gemm *gemm)
{
    bd_kir *loops = NULL;
    if (!bd_gemm_may_loop(&gemm->target, gemm->program))
        return NULL;
    BD_TRY(bd_contraction_as_loop(gemm->program, &gemm->arena, &loops));
    return bd_loop_create_short(&gemm->target, loops, gemm->base.code, &gemm->loops);
}

static const bd_kernel_ops ops = {.plan = plan, .destroy = destroy};

bd_error *bd_gemm_create(const bd_target *target, const bd_kir *program, bd_loaded *own_code,
                         const bd_loaded *micro, const bd_loaded *tabled, bd_kernel **out)
{
    bd_micro found;
    bd_micro_tabled found_tabled = {0};
    burn_dtype element = bd_gemm_element(target, program);
    BD_TRY(bd_micro_find(target, element, micro, &found));
    if (tabled)
        BD_TRY(bd_micro_find_tabled(target, element, tabled, &found_tabled));
    bd_gemm *gemm = bd_alloc_zeroed(sizeof *gemm);
    bd_arena_init(&gemm->arena);
    gemm->base = (bd_kernel){.ops = &ops, .code = own_code};
    gemm->program = bd_kir_clone(program, &gemm->arena);
    gemm->target = *target;
    gemm->micro = found;
    gemm->tabled = found_tabled;
    gemm->windows = tabled != NULL;
    const bd_kir_phase *b = bd_gemm_phase(program, BD_KIR_OPERAND_B);
    gemm->window_guard = program->instrs[b->first].guard;
    gemm->element = element;
    gemm->element_bytes = bd_micro_bytes(element);
    gemm->row_unit = bd_micro_row_unit(target, element);
    gemm->lanes = target->vector_bytes / gemm->element_bytes;
    gemm->turn_rows = bd_micro_turn_rows(target, gemm->element);
    gemm->near_ways = most(sysconf(_SC_LEVEL1_DCACHE_ASSOC), NEAR_WAYS_LEAST);
    bd_gemm_costs(gemm);
    if (!describe_operand(gemm, BD_KIR_OPERAND_A, &gemm->a) ||
        !describe_operand(gemm, BD_KIR_OPERAND_B, &gemm->b) || !describe_epilogue(gemm)) {
        destroy(&gemm->base);
        BD_FAIL(DEVICE, "the object of a contraction lacks a function");
    }
    bd_error *err = add_loops(gemm);
    if (err) {
        destroy(&gemm->base);
        return err;
    }
    *out = &gemm->base;
    return NULL;
}
