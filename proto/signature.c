/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/signature.h"

#include "proto/limits.h"

static const uint32_t elements[] = {[BD_SIGNATURE_ARGUMENT] = 3,
                                    [BD_SIGNATURE_BOUND] = 2,
                                    [BD_SIGNATURE_SEED] = 1,
                                    [BD_SIGNATURE_OFFSET] = 2};

void bd_signature_pack_type(bd_pack *pack, const burn_tensor_type *type)
{
    bd_pack_int(pack, type->dtype);
    bd_pack_array(pack, (uint32_t)type->shape.rank);
    for (int32_t i = 0; i < type->shape.rank; i++)
        bd_pack_int(pack, type->shape.dims[i]);
}

bd_error *bd_signature_unpack_type(bd_unpack *unpack, burn_tensor_type *out)
{
    int64_t dtype = 0;
    uint32_t rank = 0;
    size_t size_bytes = 0;
    BD_TRY(bd_unpack_int_in(unpack, 0, UINT8_MAX, &dtype));
    BD_TRY(bd_unpack_array(unpack, &rank));
    if (!burn_dtype_valid((int)dtype) || rank > BURN_RANK_MAX)
        BD_FAIL(PROTOCOL, "no tensor has dtype %d and rank %u", (int)dtype, rank);
    out->dtype = (burn_dtype)dtype;
    out->shape.rank = (int32_t)rank;
    for (uint32_t i = 0; i < rank; i++)
        BD_TRY(bd_unpack_int_in(unpack, 0, INT64_MAX, &out->shape.dims[i]));
    return burn_shape_check(&out->shape, out->dtype, &size_bytes);
}

void bd_signature_pack_head(bd_pack *pack, const bd_signature_head *head)
{
    bd_pack_array(pack, 3);
    bd_pack_int(pack, head->inputs);
    bd_pack_int(pack, head->outputs);
    bd_pack_int(pack, (int64_t)head->random);
}

bd_error *bd_signature_unpack_head(bd_unpack *unpack, bd_signature_head *out)
{
    int64_t inputs = 0, outputs = 0, random = 0;
    BD_TRY(bd_unpack_array_of(unpack, 3));
    BD_TRY(bd_unpack_int_in(unpack, 0, BD_PACK_ARRAY_MAX, &inputs));
    BD_TRY(bd_unpack_int_in(unpack, 0, BD_PACK_ARRAY_MAX, &outputs));
    BD_TRY(bd_unpack_int_in(unpack, 0, INT64_MAX, &random));
    *out = (bd_signature_head){(uint32_t)inputs, (uint32_t)outputs, (uint64_t)random};
    return NULL;
}

void bd_signature_pack_input(bd_pack *pack, const bd_signature_input *input)
{
    bd_pack_array(pack, elements[input->kind]);
    bd_pack_int(pack, input->kind);
    if (input->kind == BD_SIGNATURE_ARGUMENT)
        bd_signature_pack_type(pack, &input->type);
    else if (input->kind != BD_SIGNATURE_SEED)
        bd_pack_int(pack, (int64_t)input->number);
}

bd_error *bd_signature_unpack_input(bd_unpack *unpack, bd_signature_input *out)
{
    uint32_t count = 0;
    int64_t kind = 0, number = 0;
    BD_TRY(bd_unpack_array(unpack, &count));
    BD_TRY(bd_unpack_int_in(unpack, 0, BD_SIGNATURE_OFFSET, &kind));
    if (count != elements[kind])
        BD_FAIL(PROTOCOL, "an input of kind %d has %u elements, not %u", (int)kind, elements[kind],
                count);
    out->kind = (bd_signature_kind)kind;
    if (kind == BD_SIGNATURE_ARGUMENT)
        return bd_signature_unpack_type(unpack, &out->type);
    if (kind != BD_SIGNATURE_SEED)
        BD_TRY(bd_unpack_int_in(unpack, 0, (int64_t)BURN_ID_MAX, &number));
    out->number = (uint64_t)number;
    return NULL;
}

void bd_signature_pack_output(bd_pack *pack, const burn_tensor_type *type)
{
    bd_pack_array(pack, 2);
    bd_signature_pack_type(pack, type);
}

bd_error *bd_signature_unpack_output(bd_unpack *unpack, burn_tensor_type *out)
{
    BD_TRY(bd_unpack_array_of(unpack, 2));
    return bd_signature_unpack_type(unpack, out);
}
