# SPDX-License-Identifier: Apache-2.0
"""A convolution or linear layer and the batch norm behind it as one layer; skip_init."""
from __future__ import annotations

import copy
import inspect
from typing import Any

from ..._core import InvalidError
from ..._creation import ones_like, zeros_like
from ..._tensor import Tensor
from ..modules.module import Module
from ..parameter import Parameter


def _fused(weight: Tensor, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float, gain: Tensor | None,
           shift: Tensor | None, shape: list[int]) -> tuple[Parameter, Parameter]:
    gain = ones_like(mean) if gain is None else gain
    shift = zeros_like(mean) if shift is None else shift
    bias = zeros_like(mean) if bias is None else bias
    scale = gain * (var + eps).rsqrt()
    return (Parameter((weight * scale.reshape(shape)).to(weight.dtype), weight.requires_grad),
            Parameter(((bias - mean) * scale + shift).to(bias.dtype), bias.requires_grad))


def fuse_conv_bn_weights(conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                         bn_w: Tensor | None, bn_b: Tensor | None, transpose: bool = False) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that does what it and a batch norm of these statistics do."""
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                           bn_w: Tensor, bn_b: Tensor) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer that does what it and a batch norm of these statistics do."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _both_in_eval(layer: Any, bn: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    return copy.deepcopy(layer)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of the convolution that does what it and the batch norm do; both in eval mode."""
    made = _both_in_eval(conv, bn)
    made.weight, made.bias = fuse_conv_bn_weights(made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
                                                  bn.bias, transpose)
    return made


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of the linear layer that does what it and the batch norm do; both in eval mode."""
    made = _both_in_eval(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    made.weight, made.bias = fuse_linear_bn_weights(made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps,
                                                    bn.weight, bn.bias)
    return made


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Module:
    """A module whose first values are unspecified: they are the usual ones."""
    if not issubclass(module_cls, Module):
        raise InvalidError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise InvalidError("Module must support a 'device' arg to skip initialization")
    return module_cls(*args, **kwargs)
