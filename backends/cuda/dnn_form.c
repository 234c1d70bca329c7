/* SPDX-License-Identifier: Apache-2.0
 * Whether a contraction is a convolution, for these sizes. Two axes of one operand, a row's and one
 * of k, are a window's place and what it sees if both step along one dim of a tensor: a guard says
 * so, which is padding, or that they meet at the same elements. The shorter one is the kernel's. */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/dnn.h"
#include "backends/cuda/kernel.h"
#include "backends/cuda/sizes.h"

enum { LEAST_WORK = 1 << 22, ALIGNMENT = 64, STEP_MOST = 64, NONE = -1 };
static const size_t SCRATCH_MOST = (size_t)1 << 30;

/* A dim of the operand with windows, along which places lie and the kernel reaches. */
typedef struct window {
    int row, k;             /* axes; */
    int64_t row_by, k_by;   /* how far they step, */
    int64_t stride;         /* in strides of the dim; */
    int64_t size, low;      /* which has so many elements; the first place begins at `low` */
} window;

/* The contraction with its sizes. */
typedef struct call {
    const bd_kir *program;
    const int64_t *ints;
    const bd_kir_access *wide, *other; /* operand with windows, the other one */
    bd_kir_role rows, columns;                  /* of the operand with windows, of the other one */
    int guard;                                  /* of the operand with windows */
    int count;
    window windows[BD_CUDA_DNN_PLACES_MAX];
    int64_t result_strides[BD_KIR_AXES_MAX];
} call;

static int64_t extent_of(const call *c, int axis)
{
    return axis == NONE ? 1 : bd_kir_int_value(c->program->axes[axis].extent, c->ints);
}

static int64_t stride_of(const call *c, const bd_kir_access *access, int axis)
{
    return axis == NONE ? 0 : bd_kir_int_value(access->strides[axis], c->ints);
}

static int64_t common(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool is_in_window(const call *c, int axis)
{
    for (int i = 0; i < c->count; i++)
        if (c->windows[i].row == axis || c->windows[i].k == axis)
            return true;
    return false;
}

static bool has_role(const call *c, int axis, bd_kir_role role)
{
    return c->program->axes[axis].role == role && extent_of(c, axis) != 1;
}

/* ---- which axes are windows ---- */

/* The two axes that a guard is about; false if it is of another kind. */
static bool window_of_guard(const call *c, const bd_kir_guard *guard, window *out)
{
    *out = (window){.row = NONE, .k = NONE};
    for (int axis = 0; axis < c->program->axis_count; axis++) {
        int64_t by = bd_kir_int_value(guard->strides[axis], c->ints);
        bool row = has_role(c, axis, c->rows), k = has_role(c, axis, BD_KIR_K);
        if (by == 0 || extent_of(c, axis) == 1)
            continue;
        if (by < 0 || (!row && !k) || (row ? out->row : out->k) != NONE)
            return false;
        *(row ? &out->row : &out->k) = axis;
        *(row ? &out->row_by : &out->k_by) = by;
    }
    if (out->row == NONE || out->k == NONE)
        return false;
    out->stride = stride_of(c, c->wide, out->row) / out->row_by;
    out->low = bd_kir_int_value(guard->offset, c->ints);
    out->size = bd_kir_int_value(guard->extent, c->ints);
    return out->stride > 0 && stride_of(c, c->wide, out->row) == out->stride * out->row_by &&
           stride_of(c, c->wide, out->k) == out->stride * out->k_by;
}

static bool find_guarded(call *c)
{
    for (int number = c->guard; number >= 0; number = c->program->guards[number].also - 1) {
        window found;
        if (c->count == BD_CUDA_DNN_PLACES_MAX ||
            !window_of_guard(c, &c->program->guards[number], &found) ||
            is_in_window(c, found.row) || is_in_window(c, found.k))
            return false;
        c->windows[c->count++] = found;
    }
    return true;
}

/* Two axes of which several points are the same element. */
static bool do_meet(const call *c, int row, int k, window *out)
{
    int64_t r = stride_of(c, c->wide, row), s = stride_of(c, c->wide, k);
    if (r <= 0 || s <= 0)
        return false;
    int64_t stride = common(r, s), row_by = r / stride, k_by = s / stride;
    *out = (window){.row = row, .k = k, .row_by = row_by, .k_by = k_by, .stride = stride};
    out->size = (extent_of(c, row) - 1) * row_by + (extent_of(c, k) - 1) * k_by + 1;
    return row_by < extent_of(c, k) && k_by < extent_of(c, row) && row_by <= STEP_MOST &&
           k_by <= STEP_MOST;
}

static bool find_meeting(call *c)
{
    for (int row = 0; row < c->program->axis_count; row++)
        for (int k = 0; has_role(c, row, c->rows) && k < c->program->axis_count; k++) {
            window found;
            if (!has_role(c, k, BD_KIR_K) || is_in_window(c, row) || is_in_window(c, k) ||
                !do_meet(c, row, k, &found))
                continue;
            if (c->count == BD_CUDA_DNN_PLACES_MAX)
                return false;
            c->windows[c->count++] = found;
        }
    return c->count > 0;
}

/* Windows in the order of their rows: a dense result has its places in it. */
static void sort_windows(call *c)
{
    for (int i = 1; i < c->count; i++)
        for (int j = i; j > 0 && c->windows[j].row < c->windows[j - 1].row; j--) {
            window moved = c->windows[j];
            c->windows[j] = c->windows[j - 1];
            c->windows[j - 1] = moved;
        }
}

/* The one axis of a role that is no window's; false if there are several. NONE: none. */
static bool lone_axis(const call *c, bd_kir_role role, int *out)
{
    *out = NONE;
    for (int axis = 0; axis < c->program->axis_count; axis++) {
        if (!has_role(c, axis, role) || is_in_window(c, axis))
            continue;
        if (*out != NONE)
            return false;
        *out = axis;
    }
    return true;
}

/* ---- what the library calls it ---- */

static int64_t result_stride(const call *c, int axis)
{
    return axis == NONE ? 0 : c->result_strides[axis];
}

static void set_dim(bd_cuda_dnn_tensor *tensor, int dim, int64_t size, int64_t stride)
{
    tensor->dims[dim] = size;
    tensor->strides[dim] = stride;
}

/* How far places begin before the tensor, and end behind it; elements that no place sees are cut
 * off. Gives the size of what is left. */
static int64_t pad(bd_cuda_dnn_key *key, int i, const window *at, int64_t reach)
{
    int64_t size = at->size - (at->low > 0 ? at->low : 0);
    key->before[i] = at->low < 0 ? -at->low : 0;
    int64_t after = reach - key->before[i] - size;
    if (after < 0)
        size += after;
    key->after[i] = after > 0 ? after : 0;
    int64_t beyond = size + 2 * key->before[i] - reach; /* the library likes both sides equal */
    if (beyond >= 0 && beyond < key->steps[i])
        key->after[i] = key->before[i];
    return size;
}

/* y = conv(x, w), where places are rows; or the gradient of w, where the kernel is. */
static bool set_straight(const call *c, bd_cuda_dnn_form *out, const int *axes)
{
    bd_cuda_dnn_key *key = &out->key;
    bd_cuda_dnn_tensor *x = &key->each[BD_CUDA_DNN_X], *w = &key->each[BD_CUDA_DNN_W],
                       *y = &key->each[BD_CUDA_DNN_Y];
    bool forward = key->kind == BD_CUDA_DNN_FORWARD;
    int image = axes[forward ? 0 : 1], channel = axes[forward ? 1 : 0], output = axes[2];
    const bd_kir_access *weight = forward ? c->other : NULL, *after = forward ? NULL : c->other;
#define STRIDE(access, axis) ((access) ? stride_of(c, access, axis) : result_stride(c, axis))
    set_dim(x, 0, extent_of(c, image), stride_of(c, c->wide, image));
    set_dim(x, 1, extent_of(c, channel), stride_of(c, c->wide, channel));
    set_dim(w, 0, extent_of(c, output), STRIDE(weight, output));
    set_dim(w, 1, extent_of(c, channel), STRIDE(weight, channel));
    set_dim(y, 0, extent_of(c, image), STRIDE(after, image));
    set_dim(y, 1, extent_of(c, output), STRIDE(after, output));
    for (int i = 0; i < c->count; i++) {
        const window *at = &c->windows[i];
        int place = forward ? at->row : at->k, kernel = forward ? at->k : at->row;
        int64_t reach = (extent_of(c, at->row) - 1) * at->row_by +
                        (extent_of(c, at->k) - 1) * at->k_by + 1;
        key->steps[i] = forward ? at->row_by : at->k_by;
        key->dilations[i] = forward ? at->k_by : at->row_by;
        set_dim(x, 2 + i, pad(key, i, at, reach), at->stride);
        set_dim(w, 2 + i, extent_of(c, kernel), STRIDE(weight, kernel));
        set_dim(y, 2 + i, extent_of(c, place), STRIDE(after, place));
        out->at[BD_CUDA_DNN_X].offset += key->before[i] * at->stride;
        if (x->dims[2 + i] < 1 ||
            (kernel != NONE && (w->strides[2 + i] <= 0 || y->strides[2 + i] <= 0)))
            return false;
    }
#undef STRIDE
    return true;
}

/* A forward one whose weight is turned round is the gradient of the input: what is called y then
 * has the windows. */
static bool set_turned(const call *c, bd_cuda_dnn_form *out, const int *axes)
{
    bd_cuda_dnn_key *key = &out->key;
    bd_cuda_dnn_tensor *x = &key->each[BD_CUDA_DNN_X], *w = &key->each[BD_CUDA_DNN_W],
                       *y = &key->each[BD_CUDA_DNN_Y];
    int image = axes[0], channel = axes[1], output = axes[2];
    set_dim(y, 0, extent_of(c, image), stride_of(c, c->wide, image));
    set_dim(y, 1, extent_of(c, channel), stride_of(c, c->wide, channel));
    set_dim(w, 0, extent_of(c, channel), stride_of(c, c->other, channel));
    set_dim(w, 1, extent_of(c, output), stride_of(c, c->other, output));
    set_dim(x, 0, extent_of(c, image), result_stride(c, image));
    set_dim(x, 1, extent_of(c, output), result_stride(c, output));
    for (int i = 0; i < c->count; i++) {
        const window *at = &c->windows[i];
        int64_t kernel = extent_of(c, at->k), places = extent_of(c, at->row);
        int64_t stride = stride_of(c, c->other, at->k), spread = (kernel - 1) * at->k_by;
        key->steps[i] = 1;
        key->dilations[i] = at->k_by;
        key->before[i] = spread + at->low;
        key->after[i] = at->size - places - at->low;
        out->at[BD_CUDA_DNN_Y].offset -= at->low * at->stride;
        out->at[BD_CUDA_DNN_W].offset += (kernel - 1) * stride;
        set_dim(x, 2 + i, places, result_stride(c, at->row));
        set_dim(w, 2 + i, kernel, -stride);
        set_dim(y, 2 + i, at->size, at->stride);
        if (at->row_by != 1 || (at->k != NONE && stride >= 0) || key->before[i] < 0 ||
            key->after[i] < 0)
            return false;
    }
    return true;
}

/* Dims of one element have no stride of their own: that of a dense tensor, by channel. */
static void fill_strides(bd_cuda_dnn_tensor *tensor, int rank)
{
    for (int dim = rank - 1; dim >= 0; dim--) {
        int64_t inner = 1;
        for (int i = dim ? 1 : 0; i < rank; i++)
            if (i > dim || (dim == 0 && tensor->strides[i] > 0))
                inner = tensor->dims[i] * tensor->strides[i] > inner
                            ? tensor->dims[i] * tensor->strides[i]
                            : inner;
        if (tensor->dims[dim] == 1)
            tensor->strides[dim] = inner;
    }
}

/* ---- where the result goes ---- */

static void lay_result(call *c, const bd_kernel *kernel, bd_cuda_dnn_form *out)
{
    const bd_kir *program = c->program;
    bd_kir_role roles[] = {BD_KIR_N, BD_KIR_M};
    bool images = !out->direct && out->key.kind != BD_CUDA_DNN_FILTER;
    int64_t count = 1;
    for (int axis = 0; axis < program->axis_count && out->direct; axis++)
        c->result_strides[axis] =
            stride_of(c, &program->accesses[kernel->blas.store], axis);
    for (int axis = program->axis_count - 1; axis >= 0 && images; axis--)
        if (program->axes[axis].role == BD_KIR_N && is_in_window(c, axis)) {
            c->result_strides[axis] = count;
            count *= extent_of(c, axis);
        }
    out->join_places = images ? count : 0;
    if (images)
        roles[0] = BD_KIR_M, roles[1] = BD_KIR_N; /* an image, then all outputs of it */
    for (int r = 0; r < 2 && !out->direct; r++)
        for (int axis = program->axis_count - 1; axis >= 0; axis--)
            if (program->axes[axis].role == roles[r] && (!images || !is_in_window(c, axis))) {
                c->result_strides[axis] = count;
                count *= extent_of(c, axis);
            }
    burn_dtype sum =
        kernel->blas.rounded ? bd_cfamily_element(program, BD_KIR_OPERAND_A) : BURN_F32;
    size_t bytes = (size_t)count * burn_dtype_size(sum);
    out->scratch_bytes = out->direct ? 0 : (bytes + 255) & ~(size_t)255;
}

static uint32_t alignment_of(int64_t offset, size_t element)
{
    uint64_t all = (uint64_t)offset * element | ALIGNMENT;
    return (uint32_t)(all & -all);
}

static void set_types(const bd_kernel *kernel, bd_cuda_dnn_form *out)
{
    burn_dtype element = bd_cfamily_element(kernel->program, BD_KIR_OPERAND_A);
    for (int i = 0; i < BD_CUDA_DNN_TENSORS; i++) {
        bd_cuda_dnn_tensor *tensor = &out->key.each[i];
        bool is_result = i == bd_cuda_dnn_result(&out->key);
        tensor->dtype = is_result && !kernel->blas.rounded ? BURN_F32 : element;
        tensor->alignment =
            alignment_of(out->at[i].offset, burn_dtype_size((burn_dtype)tensor->dtype));
        fill_strides(tensor, (int)out->key.places + 2);
    }
    out->halves = !out->direct && kernel->blas.rounded;
}

/* A line is an image of one row. */
static void make_two(call *c)
{
    if (c->count != 1)
        return;
    c->windows[1] = c->windows[0];
    c->windows[0] =
        (window){.row = NONE, .k = NONE, .row_by = 1, .k_by = 1, .size = 1};
    c->count = 2;
}

static bool is_turned(const call *c)
{
    for (int i = 0; i < c->count; i++)
        if (c->windows[i].k != NONE && stride_of(c, c->other, c->windows[i].k) < 0)
            return true;
    return false;
}

static bool is_filter(const call *c)
{
    int64_t rows = 1, k = 1;
    for (int i = 0; i < c->count; i++) {
        rows *= extent_of(c, c->windows[i].row);
        k *= extent_of(c, c->windows[i].k);
    }
    return k > rows;
}

/* Images stand before places in what `join` reads. */
static bool can_be_joined(const call *c, int image)
{
    for (int i = 0; i < c->count; i++)
        if (c->windows[i].row != NONE && image > c->windows[i].row)
            return false;
    return c->rows == BD_KIR_N;
}

static bool form_with(const bd_kernel *kernel, call *c, bd_cuda_dnn_form *out)
{
    int axes[3]; /* that is no window's: of the rows, of k, of the other operand's rows */
    memset(out, 0, sizeof *out);
    if (!find_guarded(c) || !find_meeting(c))
        return false;
    sort_windows(c);
    for (int axis = 0; axis < c->program->axis_count; axis++)
        if (has_role(c, axis, BD_KIR_BATCH))
            return false;
    if (!lone_axis(c, c->rows, &axes[0]) || !lone_axis(c, BD_KIR_K, &axes[1]) ||
        !lone_axis(c, c->columns, &axes[2]))
        return false;
    bool turned = is_turned(c);
    out->key.kind = turned          ? BD_CUDA_DNN_DATA
                    : is_filter(c) ? BD_CUDA_DNN_FILTER
                                    : BD_CUDA_DNN_FORWARD;
    out->direct = kernel->blas.direct;
    if (!out->direct && out->key.kind != BD_CUDA_DNN_FILTER && !can_be_joined(c, axes[0]))
        return false;
    lay_result(c, kernel, out);
    make_two(c);
    out->key.places = c->count;
    int wide = turned ? BD_CUDA_DNN_Y : BD_CUDA_DNN_X, result = bd_cuda_dnn_result(&out->key);
    const bd_kir_access *store = &c->program->accesses[kernel->blas.store];
    const bd_kir_access *const by_tensor[] = {c->wide, c->other, out->direct ? store : NULL};
    const int tensors[] = {wide, BD_CUDA_DNN_TENSORS - wide - result, result};
    for (int i = 0; i < 3; i++)
        out->at[tensors[i]] =
            by_tensor[i] ? (bd_cuda_blas_place){by_tensor[i]->buffer,
                                                bd_kir_int_value(by_tensor[i]->offset, c->ints), 0}
                         : (bd_cuda_blas_place){.buffer = -1};
    if (!(turned ? set_turned(c, out, axes) : set_straight(c, out, axes)))
        return false;
    set_types(kernel, out);
    return out->scratch_bytes <= SCRATCH_MOST;
}

/* The load that is all of an operand's phase; NULL if there is more. */
static const bd_kir_instr *load_of(const bd_kir *program, bd_kir_phase_kind kind)
{
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        const bd_kir_instr *load = &program->instrs[phase->first];
        if (phase->kind == kind && phase->count == 2 && load->code == BD_KIR_LOAD)
            return load;
    }
    return NULL;
}

bool bd_cuda_dnn_form_of(const bd_kernel *kernel, const int64_t *ints, double work,
                         bd_cuda_dnn_form *out)
{
    const bd_kir *program = kernel->program;
    const bd_kir_instr *const loads[] = {load_of(program, BD_KIR_OPERAND_A),
                                         load_of(program, BD_KIR_OPERAND_B)};
    if (!kernel->blas.known || work < LEAST_WORK || !loads[0] || !loads[1] ||
        !bd_cuda_open_dnn(NULL))
        return false;
    for (int wide = 1; wide >= 0; wide--) {
        const bd_kir_instr *other = loads[1 - wide];
        call c = {.program = program,
                  .ints = ints,
                  .wide = &program->accesses[loads[wide]->index],
                  .other = &program->accesses[other->index],
                  .rows = wide ? BD_KIR_N : BD_KIR_M,
                  .columns = wide ? BD_KIR_M : BD_KIR_N,
                  .guard = loads[wide]->guard};
        if (other->guard < 0 && form_with(kernel, &c, out))
            return true;
    }
    return false;
}
