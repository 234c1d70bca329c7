/* SPDX-License-Identifier: Apache-2.0
 * Whether a tensor can be seen in another shape without a copy, as PyTorch would have it. Pure.
 * Source: at::detail::computeStride, whose rule for runs of dense dims this follows. */
#pragma once

#include "client/core/tensor.h"

/* `sizes` is the shape attribute of a reshape that was checked. */
bool bd_tensor_can_view(const burn_tensor *tensor, const burn_attr *sizes);
