/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/shared/checks.h"

#include "proto/base/alloc.h"

typedef struct check {
    bd_kir_int extent;
    int32_t tag;
    uint32_t axes; /* of its phase, bits */
} check;

struct bd_checks {
    bd_kir_int extents[BD_KIR_AXES_MAX];
    uint32_t count;
    check each[];
};

bd_checks *bd_checks_create(const bd_kir *program)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < program->instr_count; i++)
        count += program->instrs[i].code == BD_KIR_CHECK;
    if (count == 0)
        return NULL;
    bd_checks *checks = bd_alloc_zeroed(sizeof *checks + count * sizeof checks->each[0]);
    for (int axis = 0; axis < program->axis_count; axis++)
        checks->extents[axis] = program->axes[axis].extent;
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        for (unsigned i = phase->first; i < (unsigned)phase->first + phase->count; i++) {
            const bd_kir_instr *instr = &program->instrs[i];
            if (instr->code == BD_KIR_CHECK)
                checks->each[checks->count++] = (check){
                    instr->integer, instr->index, bd_kir_domain(program, phase->kind)};
        }
    }
    return checks;
}

void bd_checks_destroy(bd_checks *checks)
{
    bd_free(checks);
}

bool bd_checks_nothing(const bd_checks *checks, const int64_t *ints, int32_t *out_tag)
{
    for (uint32_t i = 0; checks && i < checks->count; i++) {
        bool runs = true;
        for (int axis = 0; axis < BD_KIR_AXES_MAX; axis++)
            runs &= !(checks->each[i].axes >> axis & 1) ||
                    bd_kir_int_value(checks->extents[axis], ints) != 0;
        if (!runs || bd_kir_int_value(checks->each[i].extent, ints) > 0)
            continue;
        *out_tag = checks->each[i].tag;
        return true;
    }
    return false;
}
