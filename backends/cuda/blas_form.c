/* SPDX-License-Identifier: Apache-2.0
 * Whether a product is one of matrices, for these sizes: axes of a role that are one in memory
 * become one, what is left over becomes a loop of calls. */
#include <string.h>

#include "backends/cuda/blas.h"
#include "backends/cuda/kernel.h"

enum { CALLS_MOST = 64, LEAST_WORK = 1 << 22, ALIGNMENT = 64 };
static const size_t SCRATCH_MOST = (size_t)1 << 30;
/* Multiply-adds and bytes a second, by which ways are compared, and seconds that launches take. */
static const double OWN_HALVES = 45e12, OWN_FLOATS = 7e12, LIBRARY_HALVES = 250e12,
                    LIBRARY_FLOATS = 20e12, MEMORY = 3e12, LAUNCHES = 10e-6;

enum { A, B, C, SIDES };

/* An axis, or several that are one in memory: its stride in both operands and the result. */
typedef struct span {
    int64_t extent, stride[SIDES];
} span;
typedef struct spans {
    int count;
    span each[BD_KIR_AXES_MAX];
} spans;

static bool is_sum_rounded(const bd_kir *program, const bd_kir_phase *phase, burn_dtype element)
{
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        for (int k = 0; k < bd_kir_operand_count((bd_kir_code)instr->code); k++) {
            if (program->instrs[instr->operands[k] - 1].code == BD_KIR_ACC &&
                (instr->code != BD_KIR_CAST || instr->dtype != element))
                return false;
        }
    }
    return true;
}

static const bd_kir_phase *epilogue_of(const bd_kir *program)
{
    for (int p = 0; p < program->phase_count; p++)
        if (program->phases[p].kind == BD_KIR_EPILOGUE)
            return &program->phases[p];
    return NULL;
}

bd_cuda_blas_end bd_cuda_blas_end_of(const bd_kernel *kernel)
{
    const bd_kir *program = kernel->program;
    bd_cuda_blas_end end = {0};
    if (program->family != BD_KIR_CONTRACTION || kernel->tiles == BD_CFAMILY_NO_TILES ||
        (!kernel->a.plain && !kernel->copy_a) || (!kernel->b.plain && !kernel->copy_b))
        return end;
    burn_dtype element = bd_cfamily_element(program, BD_KIR_OPERAND_A);
    const bd_kir_phase *phase = epilogue_of(program);
    const bd_kir_instr *last = &program->instrs[phase->first + phase->count - 1];
    end.known = true;
    end.rounded = element != BURN_F32 && is_sum_rounded(program, phase, element);
    end.direct = phase->count == (end.rounded ? 3 : 2) && last->code == BD_KIR_STORE &&
                 last->flags == BD_KIR_SET && last->guard < 0 &&
                 last->dtype == (end.rounded ? element : BURN_F32) &&
                 program->instrs[last->operands[0] - 1].code ==
                     (end.rounded ? BD_KIR_CAST : BD_KIR_ACC);
    end.store = last->index;
    return end;
}

static const bd_kir_access *access_of(const bd_kir *program, bd_kir_phase_kind kind)
{
    for (int p = 0; p < program->phase_count; p++)
        if (program->phases[p].kind == kind)
            return &program->accesses[program->instrs[program->phases[p].first].index];
    return NULL;
}

/* Where everything lies: strides of both operands and of the result, and how long copies are. */
typedef struct places {
    int64_t stride[SIDES][BD_KIR_AXES_MAX];
    int64_t elements[SIDES]; /* of a copy, or of the result in scratch; else 0 */
} places;

/* Strides of something dense, its innermost role first. */
static void lay_densely(const bd_kir *program, const int64_t *ints, places *out, int side,
                        const bd_kir_role *roles)
{
    int64_t count = 1;
    for (int r = 0; r < 3; r++)
        for (int axis = program->axis_count - 1; axis >= 0; axis--)
            if (program->axes[axis].role == roles[r]) {
                out->stride[side][axis] = count;
                count *= bd_kir_int_value(program->axes[axis].extent, ints);
            }
    out->elements[side] = count;
}

static void lay_as_accessed(const bd_kir *program, const int64_t *ints, places *out, int side,
                            const bd_kir_access *access)
{
    for (int axis = 0; axis < program->axis_count; axis++)
        out->stride[side][axis] = bd_kir_int_value(access->strides[axis], ints);
}

/* The axes of a role, innermost first; neighbours that are one everywhere are one. */
static spans spans_of(const bd_kir *program, const int64_t *ints, bd_kir_role role,
                      const places *at)
{
    spans out = {0};
    for (int axis = program->axis_count - 1; axis >= 0; axis--) {
        span s = {.extent = bd_kir_int_value(program->axes[axis].extent, ints)};
        if (program->axes[axis].role != role || s.extent == 1)
            continue;
        for (int side = 0; side < SIDES; side++)
            s.stride[side] = at->stride[side][axis];
        span *inner = out.count ? &out.each[out.count - 1] : NULL;
        bool joins = inner != NULL;
        for (int side = 0; joins && side < SIDES; side++)
            joins = s.stride[side] == inner->extent * inner->stride[side];
        if (joins)
            inner->extent *= s.extent;
        else
            out.each[out.count++] = s;
    }
    return out;
}

/* The matrix whose element (row, depth) is `row` * r + `depth` * d from the first. */
static bool matrix_of(bd_cuda_matrix *out, uint64_t rows, int64_t row, uint64_t depths,
                      int64_t depth, bool rows_first)
{
    bool row_unit = row == 1 || rows == 1, depth_unit = depth == 1 || depths == 1;
    bool by_rows = row_unit && (rows_first || !depth_unit); /* neighbours are rows */
    if (!row_unit && !depth_unit)
        return false;
    out->rows = by_rows ? rows : depths;
    out->columns = by_rows ? depths : rows;
    out->ld = by_rows ? depth : row;
    if (out->columns == 1)
        out->ld = (int64_t)out->rows;
    out->turned = by_rows != rows_first;
    return out->ld >= (int64_t)out->rows;
}

/* What all addresses of a matrix are multiples of, at most what every buffer is aligned to. */
static uint32_t alignment_of(const bd_cuda_matrix *matrix, const bd_cuda_blas_form *form,
                             int64_t offset, int side)
{
    uint64_t all = (uint64_t)offset | (uint64_t)matrix->batch_stride;
    for (int i = 0; i < form->loops; i++) {
        const int64_t strides[] = {form->loop[i].left, form->loop[i].right, form->loop[i].result};
        all |= (uint64_t)strides[side];
    }
    all = all * burn_dtype_size((burn_dtype)matrix->dtype) | ALIGNMENT;
    return (uint32_t)(all & -all);
}

/* Loops beside the matrices: the longest becomes the library's batch. */
static bool set_loops(bd_cuda_blas_form *form, const spans *beside, int left)
{
    int longest = -1;
    int64_t calls = 1;
    bd_cuda_matrix *const matrices[] = {&form->key.left, &form->key.right, &form->key.result};
    for (int i = 0; i < beside->count; i++)
        if (longest < 0 || beside->each[i].extent > beside->each[longest].extent)
            longest = i;
    for (int i = 0; i < 3; i++)
        matrices[i]->batch = 1;
    for (int i = 0; i < beside->count; i++) {
        const span *s = &beside->each[i];
        const int64_t strides[] = {s->stride[left], s->stride[1 - left], s->stride[C]};
        if (i == longest) {
            for (int k = 0; k < 3; k++) {
                matrices[k]->batch = (int32_t)s->extent;
                matrices[k]->batch_stride = strides[k];
            }
            continue;
        }
        calls *= s->extent;
        if (form->loops == BD_CUDA_BLAS_LOOPS_MAX || calls > CALLS_MOST)
            return false;
        form->loop[form->loops].extent = s->extent;
        form->loop[form->loops].left = strides[0];
        form->loop[form->loops].right = strides[1];
        form->loop[form->loops++].result = strides[2];
    }
    return true;
}

/* The innermost span of a role is the matrices', those outside are loops. */
static span take(const spans *from, spans *beside)
{
    for (int i = 1; i < from->count; i++)
        beside->each[beside->count++] = from->each[i];
    return from->count ? from->each[0] : (span){.extent = 1};
}

static bool set_matrices(bd_cuda_blas_form *form, const span *m, const span *n, const span *k,
                         int left)
{
    const span *rows = left == A ? m : n, *columns = left == A ? n : m;
    bd_cuda_blas_key *key = &form->key;
    return matrix_of(&key->left, (uint64_t)rows->extent, rows->stride[left], (uint64_t)k->extent,
                     k->stride[left], true) &&
           matrix_of(&key->right, (uint64_t)columns->extent, columns->stride[1 - left],
                     (uint64_t)k->extent, k->stride[1 - left], false) &&
           matrix_of(&key->result, (uint64_t)rows->extent, rows->stride[C],
                     (uint64_t)columns->extent, columns->stride[C], true) &&
           !key->result.turned;
}

static void set_types(bd_cuda_blas_form *form, burn_dtype element, const bd_cuda_blas_end *end)
{
    bd_cuda_blas_key *key = &form->key;
    form->halves = !form->direct && end->rounded;
    key->left.dtype = key->right.dtype = element;
    key->result.dtype = end->rounded ? element : BURN_F32;
    key->left.alignment = alignment_of(&key->left, form, form->left.offset, 0);
    key->right.alignment = alignment_of(&key->right, form, form->right.offset, 1);
    key->result.alignment = alignment_of(&key->result, form, form->result.offset, 2);
}

/* Room in scratch for what is copied, and for the result if it goes there. */
static bd_cuda_blas_place place_of(bd_cuda_blas_form *form, const int64_t *ints,
                                   const bd_kir_access *access, int64_t elements, uint32_t dtype)
{
    if (elements == 0)
        return (bd_cuda_blas_place){access->buffer, bd_kir_int_value(access->offset, ints), 0};
    bd_cuda_blas_place place = {.buffer = -1, .at = form->scratch_bytes};
    size_t bytes = (size_t)elements * burn_dtype_size((burn_dtype)dtype);
    form->scratch_bytes += (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    return place;
}

/* What a way to do it is: which operands are copied, and whether the result goes to its place. */
typedef struct route {
    bool copied[2], direct;
} route;

static places lay(const bd_kernel *kernel, const int64_t *ints, const route *way, int64_t plan,
                  bd_cuda_blas_form *out)
{
    const bd_kir *program = kernel->program;
    const bd_cfamily_side *const sides[] = {&kernel->a, &kernel->b};
    const int64_t flags[] = {BD_CFAMILY_A_BY_DEPTH, BD_CFAMILY_B_BY_DEPTH};
    static const bd_kir_role result[] = {BD_KIR_N, BD_KIR_M, BD_KIR_BATCH};
    places at = {0};
    for (int side = A; side <= B; side++) {
        bd_kir_phase_kind kind = side == A ? BD_KIR_OPERAND_A : BD_KIR_OPERAND_B;
        bool by_depth = sides[side]->order == BD_CFAMILY_ANY_ORDER
                            ? (plan & flags[side]) != 0
                            : sides[side]->order == BD_CFAMILY_BY_DEPTH;
        bd_kir_role rows = sides[side]->rows;
        const bd_kir_role roles[] = {by_depth ? BD_KIR_K : rows, by_depth ? rows : BD_KIR_K,
                                     BD_KIR_BATCH};
        if (!way->copied[side]) {
            lay_as_accessed(program, ints, &at, side, access_of(program, kind));
            continue;
        }
        lay_densely(program, ints, &at, side, roles);
        out->copies |= 1 << side;
        out->copy_plan |= by_depth ? flags[side] : 0;
    }
    if (way->direct)
        lay_as_accessed(program, ints, &at, C, &program->accesses[kernel->blas.store]);
    else
        lay_densely(program, ints, &at, C, result);
    return at;
}

static bool form_with(const bd_kernel *kernel, const int64_t *ints, const route *way, int64_t plan,
                      bd_cuda_blas_form *out)
{
    const bd_kir *program = kernel->program;
    memset(out, 0, sizeof *out);
    out->direct = way->direct;
    places at = lay(kernel, ints, way, plan, out);
    spans n_spans = spans_of(program, ints, BD_KIR_N, &at);
    spans m_spans = spans_of(program, ints, BD_KIR_M, &at);
    spans beside = spans_of(program, ints, BD_KIR_BATCH, &at);
    spans k_spans = spans_of(program, ints, BD_KIR_K, &at);
    if (k_spans.count > 1 || beside.count + m_spans.count + n_spans.count > BD_CUDA_BLAS_LOOPS_MAX)
        return false;
    span m = take(&m_spans, &beside), n = take(&n_spans, &beside);
    span k = k_spans.count ? k_spans.each[0] : (span){.extent = 1};
    int left = m.stride[C] == 1 && n.stride[C] != 1 ? A : B;
    if (!set_matrices(out, &m, &n, &k, left) || !set_loops(out, &beside, left) ||
        m.extent * n.extent * k.extent * out->key.left.batch < LEAST_WORK)
        return false;
    const bd_kir_access *const accesses[] = {access_of(program, BD_KIR_OPERAND_A),
                                             access_of(program, BD_KIR_OPERAND_B)};
    burn_dtype element = bd_cfamily_element(program, BD_KIR_OPERAND_A);
    bd_cuda_blas_place operands[2];
    for (int side = A; side <= B; side++) {
        operands[side] = place_of(out, ints, accesses[side], at.elements[side], element);
        out->copied[side] = operands[side];
    }
    out->left = operands[left];
    out->right = operands[1 - left];
    uint32_t sum = kernel->blas.rounded ? element : BURN_F32;
    out->result = place_of(out, ints, way->direct ? &program->accesses[kernel->blas.store] : NULL,
                           at.elements[C], sum);
    set_types(out, element, &kernel->blas);
    return out->scratch_bytes <= SCRATCH_MOST;
}

/* Whether copies and the library's calls are quicker than our own tiles. */
static bool is_worth(const bd_cuda_blas_form *form, double work)
{
    bool half = form->key.left.dtype != BURN_F32;
    double own = work / (half ? OWN_HALVES : OWN_FLOATS);
    double library = work / (half ? LIBRARY_HALVES : LIBRARY_FLOATS);
    return library + 2 * (double)form->scratch_bytes / MEMORY + LAUNCHES < own;
}

bool bd_cuda_blas_form_of(const bd_kernel *kernel, const int64_t *ints, int64_t plan, double work,
                          bd_cuda_blas_form *out)
{
    const bool plain[] = {kernel->a.plain, kernel->b.plain};
    const bool may[] = {kernel->copy_a != NULL, kernel->copy_b != NULL};
    if (!kernel->blas.known || work < LEAST_WORK || !bd_cuda_open_blas(NULL))
        return false;
    for (int copies = 0; copies < 4; copies++)
        for (int direct = kernel->blas.direct; direct >= 0; direct--) {
            const route way = {{copies & 1, copies >> 1 & 1}, direct};
            bool can = true;
            for (int side = A; side <= B; side++)
                can &= way.copied[side] ? may[side] : plain[side];
            if (can && form_with(kernel, ints, &way, plan, out))
                return copies == 0 || is_worth(out, work);
        }
    return false;
}
