# SPDX-License-Identifier: Apache-2.0
"""Helpers of training: gradient clipping, flat parameters, packed sequences, parametrizations."""
from . import parametrizations, parametrize, prune, rnn
from ._weights import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .fusion import (
    fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights, skip_init,
)

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "fuse_conv_bn_eval",
    "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "get_total_norm", "prune", "skip_init",
    "parameters_to_vector", "parametrizations", "parametrize", "remove_spectral_norm", "remove_weight_norm", "rnn",
    "spectral_norm", "vector_to_parameters", "weight_norm",
]
