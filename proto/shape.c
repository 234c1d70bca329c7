/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/shape.h"

#include <stdio.h>

static void absorb_rest(const burn_shape *input, const burn_shape *output, int i, int j,
                        burn_reshape_group *group);

bool burn_shape_equal(const burn_shape *a, const burn_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int axis = 0; axis < a->rank; axis++)
        if (a->dims[axis] != b->dims[axis])
            return false;
    return true;
}

int64_t burn_shape_elements(const burn_shape *shape)
{
    int64_t elements = 1;
    for (int axis = 0; axis < shape->rank; axis++)
        elements *= shape->dims[axis];
    return elements;
}

bd_error *burn_shape_check(const burn_shape *shape, burn_dtype dtype, size_t *out_bytes)
{
    char text[BURN_SHAPE_TEXT_MAX];
    if (shape->rank < 0 || shape->rank > BURN_RANK_MAX)
        BD_FAIL(INVALID, "%d dims are more than the %d that a tensor may have", shape->rank,
                BURN_RANK_MAX);
    int64_t extent = 1; /* with empty dims counted as 1: strides must not overflow either */
    for (int axis = 0; axis < shape->rank; axis++) {
        int64_t dim = shape->dims[axis];
        if (dim < 0)
            BD_FAIL(INVALID, "the size of dim %d is negative in %s", axis,
                    burn_shape_text(shape, text));
        if (dim > BURN_ELEMENTS_MAX || (dim > 1 && extent > BURN_ELEMENTS_MAX / dim))
            BD_FAIL(LIMIT, "%s has more than 2^48 elements", burn_shape_text(shape, text));
        if (dim > 1)
            extent *= dim;
    }
    if (out_bytes)
        *out_bytes = (size_t)burn_shape_elements(shape) * burn_dtype_size(dtype);
    return NULL;
}

const char *burn_shape_text(const burn_shape *shape, char text[BURN_SHAPE_TEXT_MAX])
{
    size_t used = 0;
    int rank = shape->rank < BURN_RANK_MAX ? shape->rank : BURN_RANK_MAX;
    text[used++] = '[';
    for (int axis = 0; axis < rank; axis++) {
        char number[32];
        int length = snprintf(number, sizeof number, axis ? ", %lld" : "%lld",
                              (long long)shape->dims[axis]);
        if (used + (size_t)length + 8 > BURN_SHAPE_TEXT_MAX) {
            used += (size_t)snprintf(text + used, BURN_SHAPE_TEXT_MAX - used, ", …");
            break;
        }
        for (int i = 0; i < length; i++)
            text[used++] = number[i];
    }
    text[used++] = ']';
    text[used] = '\0';
    return text;
}

bd_error *burn_shape_broadcast(const burn_shape *a, const burn_shape *b, burn_shape *out)
{
    burn_shape result;
    result.rank = a->rank > b->rank ? a->rank : b->rank;
    for (int axis = result.rank - 1; axis >= 0; axis--) {
        int a_axis = axis - (result.rank - a->rank), b_axis = axis - (result.rank - b->rank);
        int64_t a_dim = a_axis >= 0 ? a->dims[a_axis] : 1,
                b_dim = b_axis >= 0 ? b->dims[b_axis] : 1;
        if (a_dim != b_dim && a_dim != 1 && b_dim != 1) {
            char a_text[BURN_SHAPE_TEXT_MAX], b_text[BURN_SHAPE_TEXT_MAX];
            BD_FAIL(INVALID,
                    "shapes %s and %s do not broadcast: sizes %lld and %lld in dim %d differ and "
                    "neither is 1",
                    burn_shape_text(a, a_text), burn_shape_text(b, b_text), (long long)a_dim,
                    (long long)b_dim, axis);
        }
        result.dims[axis] = a_dim == 1 ? b_dim : a_dim;
    }
    *out = result;
    return NULL;
}

int burn_reshape_groups(const burn_shape *input, const burn_shape *output,
                        burn_reshape_group groups[2 * BURN_RANK_MAX])
{
    int count = 0, i = 0, j = 0;
    while (i < input->rank || j < output->rank) {
        burn_reshape_group *group = &groups[count++];
        if (i < input->rank && j < output->rank && input->dims[i] == output->dims[j]) {
            *group = (burn_reshape_group){1, 1};
        } else if (i < input->rank && input->dims[i] == 1) {
            *group = (burn_reshape_group){1, 0};
        } else if (j < output->rank && output->dims[j] == 1) {
            *group = (burn_reshape_group){0, 1};
        } else if (i == input->rank || j == output->rank) {
            absorb_rest(input, output, i, j, group); /* only empty tensors come here */
        } else {
            int i_end = i + 1, j_end = j + 1;
            int64_t p = input->dims[i], q = output->dims[j];
            while (p != q && p <= BURN_ELEMENTS_MAX && q <= BURN_ELEMENTS_MAX &&
                   (p < q ? i_end < input->rank : j_end < output->rank)) {
                if (p < q)
                    p *= input->dims[i_end++];
                else
                    q *= output->dims[j_end++];
            }
            if (p == q)
                *group = (burn_reshape_group){(uint8_t)(i_end - i), (uint8_t)(j_end - j)};
            else
                absorb_rest(input, output, i, j, group);
        }
        i += group->input_count;
        j += group->output_count;
    }
    return count;
}

static void absorb_rest(const burn_shape *input, const burn_shape *output, int i, int j,
                        burn_reshape_group *group)
{
    if (i < input->rank)
        *group = (burn_reshape_group){(uint8_t)(input->rank - i), 0};
    else
        *group = (burn_reshape_group){0, (uint8_t)(output->rank - j)};
}
