/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/kir/kir.h"

#define SAME BD_KIR_RESULT_SAME
#define BOOL BD_KIR_RESULT_BOOL
#define I64 BD_KIR_RESULT_I64
#define INSTR BD_KIR_RESULT_INSTR
#define NONE BD_KIR_RESULT_NONE
static const struct {
    const char *text;
    uint8_t operands, result;
} facts[BD_KIR_CODE_COUNT] = {
#define KIR(name, text, operands, result) {text, operands, result},
#include "backends/kir/kir.def"
};
#undef SAME
#undef BOOL
#undef I64
#undef INSTR
#undef NONE

const char *bd_kir_code_text(bd_kir_code code)
{
    return (unsigned)code < BD_KIR_CODE_COUNT ? facts[code].text : "unknown";
}

int bd_kir_operand_count(bd_kir_code code)
{
    return (unsigned)code < BD_KIR_CODE_COUNT ? facts[code].operands : 0;
}

bd_kir_result bd_kir_result_of(bd_kir_code code)
{
    return (unsigned)code < BD_KIR_CODE_COUNT ? (bd_kir_result)facts[code].result
                                              : BD_KIR_RESULT_NONE;
}

bool bd_kir_is_reduce(bd_kir_code code)
{
    return code >= BD_KIR_REDUCE_SUM && code <= BD_KIR_REDUCE_ARGMIN;
}

bool bd_kir_is_scan(bd_kir_code code)
{
    return code >= BD_KIR_SCAN_SUM && code <= BD_KIR_SCAN_LOGSUM;
}

int bd_kir_axis_of(const bd_kir *program, bd_kir_role role)
{
    for (int axis = program->axis_count - 1; axis >= 0; axis--)
        if (program->axes[axis].role == role)
            return axis;
    return -1;
}

burn_dtype bd_kir_accumulator(burn_dtype element)
{
    return element == BURN_F16 || element == BURN_BF16 ? BURN_F32 : element;
}

const char *bd_kir_family_text(bd_kir_family family)
{
    static const char *const texts[] = {"loop", "contraction", "attention"};
    return (unsigned)family < sizeof texts / sizeof *texts ? texts[family] : "unknown";
}

bool bd_kir_yields(bd_kir_phase_kind kind)
{
    return kind >= BD_KIR_OPERAND_A && kind <= BD_KIR_OPERAND_C;
}

static uint32_t roles_of(bd_kir_family family, bd_kir_phase_kind kind)
{
    switch (kind) {
    case BD_KIR_UNIFORM:
        return 0;
    case BD_KIR_ROW:
        return 1u << BD_KIR_PARALLEL;
    case BD_KIR_EACH:
        return 1u << BD_KIR_PARALLEL | 1u << BD_KIR_SERIAL;
    case BD_KIR_OPERAND_A:
        return 1u << BD_KIR_BATCH | 1u << BD_KIR_M | 1u << BD_KIR_K;
    case BD_KIR_OPERAND_B:
        return 1u << BD_KIR_BATCH | 1u << BD_KIR_N | 1u << BD_KIR_K;
    case BD_KIR_SCORE:
        return 1u << BD_KIR_BATCH | 1u << BD_KIR_M | 1u << BD_KIR_N;
    case BD_KIR_OPERAND_C:
        return 1u << BD_KIR_BATCH | 1u << BD_KIR_N | 1u << BD_KIR_E;
    case BD_KIR_EPILOGUE:
        return 1u << BD_KIR_BATCH | 1u << BD_KIR_M |
               1u << (family == BD_KIR_ATTENTION ? BD_KIR_E : BD_KIR_N);
    }
    return 0;
}

uint32_t bd_kir_guard_axes(const bd_kir *program, int guard)
{
    uint32_t axes = 0;
    for (int number = guard + 1; number > 0; number = program->guards[number - 1].also)
        for (unsigned axis = 0; axis < program->axis_count; axis++)
            if (!bd_kir_int_is(program->guards[number - 1].strides[axis], 0))
                axes |= 1u << axis;
    return axes;
}

uint32_t bd_kir_domain(const bd_kir *program, bd_kir_phase_kind kind)
{
    uint32_t roles = roles_of(program->family, kind);
    uint32_t axes = 0;
    for (unsigned i = 0; i < program->axis_count; i++)
        if (roles >> program->axes[i].role & 1)
            axes |= 1u << i;
    return axes;
}
