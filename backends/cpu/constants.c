/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/constants.h"

#include "proto/base/alloc.h"
#include "proto/base/vec.h"

enum { ZERO_BYTES = 512 };

struct bd_constants {
    bd_module *module;
    BD_VEC(uint64_t) words; /* a 32-bit constant takes the low half */
    LLVMValueRef placeholder, zeros;
    unsigned invariant_kind;
};

bd_constants *bd_constants_create(bd_module *module)
{
    bd_constants *constants = bd_alloc_zeroed(sizeof *constants);
    constants->module = module;
    constants->invariant_kind =
        LLVMGetMDKindIDInContext(module->context, "invariant.load", sizeof "invariant.load" - 1);
    return constants;
}

void bd_constants_destroy(bd_constants *constants)
{
    if (!constants)
        return;
    bd_vec_deinit(&constants->words);
    bd_free(constants);
}

LLVMValueRef bd_constant_load(bd_module *module, LLVMBuilderRef builder, LLVMTypeRef type,
                              uint64_t bits)
{
    bd_constants *constants = module->constants;
    if (!constants->placeholder)
        constants->placeholder =
            LLVMAddGlobal(module->llvm, LLVMArrayType2(module->i64, 0), "constants_open");
    size_t at = 0;
    while (at < constants->words.count && constants->words.items[at] != bits)
        at++;
    if (at == constants->words.count)
        *bd_vec_push(&constants->words) = bits;
    LLVMValueRef index = LLVMConstInt(module->i64, at, 0);
    LLVMValueRef place = LLVMBuildGEP2(builder, module->i64, constants->placeholder, &index, 1, "");
    LLVMValueRef value = LLVMBuildLoad2(builder, type, place, "");
    LLVMSetMetadata(
        value, constants->invariant_kind,
        LLVMMetadataAsValue(module->context, LLVMMDNodeInContext2(module->context, NULL, 0)));
    return value;
}

LLVMValueRef bd_constant_zeros(bd_module *module)
{
    bd_constants *constants = module->constants;
    if (!constants->zeros) {
        LLVMTypeRef type = LLVMArrayType2(module->i8, ZERO_BYTES);
        constants->zeros = LLVMAddGlobal(module->llvm, type, "zeros");
        LLVMSetInitializer(constants->zeros, LLVMConstNull(type));
        LLVMSetLinkage(constants->zeros, LLVMInternalLinkage);
        LLVMSetAlignment(constants->zeros, 64);
    }
    return constants->zeros;
}

void bd_constants_finish(bd_constants *constants)
{
    if (!constants->placeholder)
        return;
    bd_module *module = constants->module;
    size_t count = constants->words.count;
    LLVMValueRef *values = bd_alloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = LLVMConstInt(module->i64, constants->words.items[i], 0);
    LLVMValueRef initial = LLVMConstArray2(module->i64, values, count);
    bd_free(values);
    LLVMValueRef table = LLVMAddGlobal(module->llvm, LLVMTypeOf(initial), "constants");
    LLVMSetInitializer(table, initial);
    LLVMSetLinkage(table, LLVMInternalLinkage);
    LLVMSetAlignment(table, 64);
    LLVMReplaceAllUsesWith(constants->placeholder, table);
    LLVMDeleteGlobal(constants->placeholder);
    constants->placeholder = NULL;
}
