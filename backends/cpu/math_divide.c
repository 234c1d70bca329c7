/* SPDX-License-Identifier: Apache-2.0
 * Division of a vector by one number. A divide unit takes about ten cycles a register; a product
 * with the reciprocal and one correction by fused multiply-add round the same (P. Markstein, 1990)
 * in three instructions, wherever no step overflows or underflows. */
#include "backends/cpu/math_parts.h"

/* The lanes for which the correction is NaN are divided in the plain way. They are rare: zeros and
 * infinities on either side, subnormal divisors, and NaN itself. */
value bd_math_divide_by(bd_emit *e, value x, value divisor)
{
    LLVMBuilderRef b = e->builder;
    value one = LLVMConstReal(LLVMTypeOf(divisor), 1);
    value reciprocal = bd_part_match(e, divide(e, one, divisor), x);
    divisor = bd_part_match(e, divisor, x);
    value quotient = mul(e, x, reciprocal);
    value rest = fma3(e, LLVMBuildFNeg(b, quotient, ""), divisor, x);
    value corrected = fma3(e, rest, reciprocal, quotient), odd = bd_part_isnan(e, corrected);
    LLVMTypeRef bits = LLVMIntTypeInContext(e->module->context, LLVMGetVectorSize(LLVMTypeOf(x)));
    value some = LLVMBuildBitCast(b, odd, bits, "");
    some = LLVMBuildICmp(b, LLVMIntNE, some, LLVMConstNull(bits), "");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
    bd_emit_branch branch;
    bd_emit_if(e, &branch, some);
    value plain = pick(e, odd, divide(e, x, divisor), corrected);
    LLVMBasicBlockRef slow = LLVMGetInsertBlock(b);
    bd_emit_end_if(e, &branch);
    value result = LLVMBuildPhi(b, LLVMTypeOf(x), "");
    LLVMAddIncoming(result, &corrected, &before, 1);
    LLVMAddIncoming(result, &plain, &slow, 1);
    return result;
}
