# SPDX-License-Identifier: Apache-2.0
"""The older weight_norm and spectral_norm: parameters beside the weight, which is made anew before each forward."""
from __future__ import annotations

from typing import Any, Callable

from ..._core import InvalidError
from ..._tensor import Tensor
from ..modules.module import Module
from ..parameter import Parameter
from .parametrizations import _SpectralNorm, _WeightNorm


class _Made:
    """A hook that sets a module's weight before each forward."""

    def __init__(self, name: str, compute: Callable[[Module], Tensor], norm: Module, own: tuple[str, ...]) -> None:
        self.name, self.compute, self.norm, self.own = name, compute, norm, own
        self.handle: Any = None

    def __call__(self, module: Module, inputs: Any) -> None:
        object.__setattr__(module, self.name, self.compute(module))


def _weight(module: Module, name: str, what: str) -> Parameter:
    if any(isinstance(hook.function, _Made) and hook.function.name == name for hook in module._hooks.of("forward_pre")):
        raise InvalidError(f"Cannot register two {what} hooks on the same parameter {name}")
    weight = module._parameters.get(name)
    if weight is None:
        raise InvalidError(f"{type(module).__name__} has no parameter {name!r}")
    return weight


def _install(module: Module, made: _Made) -> Module:
    made.handle = module.register_forward_pre_hook(made)
    made(module, ())
    return module


def _uninstall(module: Module, name: str, kind: type) -> Module:
    """The weight as it is becomes a parameter again."""
    for hook in module._hooks.of("forward_pre"):
        made = hook.function
        if isinstance(made, _Made) and made.name == name and isinstance(made.norm, kind):
            weight = made.compute(module).detach()
            made.handle.remove()
            object.__delattr__(module, name)
            for own in made.own:
                module._parameters.pop(own, None)
                module._buffers.pop(own, None)
            module.register_parameter(name, Parameter(weight))
            return module
    raise InvalidError(f"{kind.__name__[1:]} of {name!r} not found in {module}")


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """weight = g * v / norm(v), with the parameters weight_g, the norms along dim, and weight_v, the directions."""
    weight, norm, own = _weight(module, name, "weight_norm"), _WeightNorm(dim), (f"{name}_g", f"{name}_v")
    del module._parameters[name]
    for key, value in zip(own, norm.right_inverse(weight.detach())):
        module.register_parameter(key, Parameter(value.clone()))
    return _install(module, _Made(name, lambda m: norm(getattr(m, own[0]), getattr(m, own[1])), norm, own))


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Undoes weight_norm: the weight as it is becomes a parameter again."""
    return _uninstall(module, name, _WeightNorm)


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:
    """Divides the parameter weight_orig by its largest singular value, estimated by power iteration with the buffers
    weight_u and weight_v."""
    weight = _weight(module, name, "spectral_norm")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    norm = _SpectralNorm(weight.detach(), n_power_iterations, dim, eps)
    own = (f"{name}_orig", f"{name}_u", f"{name}_v")
    del module._parameters[name]
    module.register_parameter(own[0], weight)
    module.register_buffer(own[1], norm._u)
    module.register_buffer(own[2], norm._v)

    def compute(m: Module) -> Tensor:
        norm.training, norm._u, norm._v = m.training, getattr(m, own[1]), getattr(m, own[2])
        made = norm(getattr(m, own[0]))
        setattr(m, own[1], norm._u)
        setattr(m, own[2], norm._v)
        return made
    return _install(module, _Made(name, compute, norm, own))


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Undoes spectral_norm: the weight as it is becomes a parameter again."""
    return _uninstall(module, name, _SpectralNorm)
