/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/ops.h"

#include <string.h>

#include "proto/op_table.h"

const burn_op_info *burn_op_lookup(int number)
{
    if (number <= 0 || number >= BURN_OP_PLACE_COUNT || !burn_op_places[number])
        return NULL;
    return &burn_op_rows[burn_op_places[number] - 1];
}

const burn_op_info *burn_op_find(const char *name)
{
    int low = 0, high = BURN_OP_ROW_COUNT;
    while (low < high) {
        int middle = (low + high) / 2;
        const burn_op_info *info = &burn_op_rows[burn_op_names[middle]];
        int order = strcmp(name, info->name);
        if (order == 0)
            return info;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

burn_input_role burn_op_input_role(const burn_op_info *info, uint32_t i)
{
    uint32_t named = info->input_count;
    if (named == 0)
        return BURN_INPUT_VALUE;
    return (burn_input_role)info->input_roles[i < named ? i : named - 1];
}

int burn_op_count(void)
{
    return BURN_OP_ROW_COUNT;
}

const burn_op_info *burn_op_at(int index)
{
    return &burn_op_rows[index];
}

int burn_op_attr(const burn_op_info *info, const char *name)
{
    for (int i = 0; i < info->attr_count; i++)
        if (strcmp(info->attrs[i].name, name) == 0)
            return i;
    return -1;
}

uint32_t burn_op_output_count(const burn_op_record *record)
{
    const burn_op_info *info = record->info;
    switch ((burn_output_rule)info->output_rule) {
    case BURN_OUTPUTS_FIXED:
        break;
    case BURN_OUTPUTS_SPLIT:
        return record->attrs[0].count;
    case BURN_OUTPUTS_WRT: {
        int64_t roots = record->attrs[0].value;
        bool fits = roots >= 0 && roots <= (int64_t)record->input_count / 2;
        return fits ? record->input_count - 2 * (uint32_t)roots : 0;
    }
    case BURN_OUTPUTS_ATTR: {
        int64_t count = record->attrs[1].value;
        return count < 0 ? 0 : count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
    }
    }
    bool one_more = info->output_if >= 0 &&
                    record->inputs[info->output_if].kind != BURN_OPERAND_ABSENT;
    return info->output_count + (one_more ? 1u : 0u);
}
