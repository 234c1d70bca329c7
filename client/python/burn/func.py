# SPDX-License-Identifier: Apache-2.0
"""Transforms of functions; names and results are torch.func's."""
from __future__ import annotations

import functools
from typing import Any, Callable, Sequence

from ._core import InvalidError
from . import autograd
from ._functions import stack
from ._jit import _flatten, _restore
from ._tensor import Tensor, enable_grad

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "stack_module_state",
           "value_and_grad", "vjp", "vmap"]


def _tensors(value: Any) -> tuple[Any, list[Tensor]]:
    found: list[Tensor] = []
    return _flatten(value, found), found


def _fresh(value: Any) -> tuple[Any, Any, list[Tensor]]:
    """(the value with tensors that require gradients, its structure, those tensors)."""
    structure, tensors = _tensors(value)
    fresh = [x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in tensors]
    return _restore(structure, fresh), structure, fresh


def grad_and_value(func: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable:
    """A function that gives (gradients, value) of func, or (gradients, (value, aux)) with has_aux. The gradients are
    of the argument number argnums (a tuple of them for several) and have its structure."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> tuple:
        from ._core import grad_enabled
        outer = grad_enabled() and any(x.requires_grad for x in _tensors(args)[1])
        changed, parts, wanted = list(args), [], []
        with enable_grad():
            for number in numbers:
                changed[number], structure, fresh = _fresh(args[number])
                parts.append((structure, len(wanted), len(wanted) + len(fresh)))
                wanted += fresh
            result = func(*changed, **kwargs)
            value = result[0] if has_aux else result
            if not isinstance(value, Tensor) or value.dim() != 0:
                raise InvalidError("Expected the function given to grad to return a scalar tensor"
                                   + (f", got a tensor with {value.dim()} dims" if isinstance(value, Tensor) else ""))
            found = autograd.grad(value, wanted, create_graph=True, materialize_grads=True) if value.requires_grad \
                else tuple(x * 0 for x in wanted)
        if not outer:
            found = tuple(g.detach() for g in found)
            structure, tensors = _tensors(result)
            result = _restore(structure, [x.detach() for x in tensors])
        gradients = tuple(_renumbered(structure, start, found) for structure, start, _ in parts)
        return gradients[0] if isinstance(argnums, int) else gradients, result
    return wrapped


def _renumbered(structure: Any, start: int, found: tuple) -> Any:
    return _restore(structure, found[start:])


def grad(func: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable:
    """A function that gives the gradients of func, or (gradients, aux) with has_aux."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        gradients, result = both(*args, **kwargs)
        return (gradients, result[1]) if has_aux else gradients
    return wrapped


def value_and_grad(func: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable:
    """A function that gives (value, gradients) of func."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> tuple:
        gradients, result = both(*args, **kwargs)
        return result, gradients
    return wrapped


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """(func(*primals), a function of seeds that gives the tuple of gradients of the primals[, aux])."""
    with enable_grad():
        changed, structure, fresh = _fresh(primals)
        result = func(*changed)
    output, *aux = result if has_aux else (result,)
    shape, outputs = _tensors(output)

    def pull(*seeds: Any, retain_graph: bool = True, create_graph: bool = False) -> tuple:
        _, given = _tensors(seeds)
        found = autograd.grad(outputs, fresh, given, retain_graph=True, create_graph=create_graph,
                              materialize_grads=True)
        return _restore(structure, found)
    return (_restore(shape, [y.detach() for y in outputs]), pull, *aux)


def jvp(func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """(func(*primals), the Jacobian times the tangents[, aux])."""
    aux: list = []

    def plain(*args: Any) -> Any:
        result = func(*args)
        if has_aux:
            aux[:] = [result[1]]
            return result[0]
        return result
    from .autograd import functional
    return (*functional.jvp(plain, tuple(primals), tuple(tangents), strict=strict), *aux)


def jacrev(func: Callable, argnums: int | Sequence[int] = 0, *, has_aux: bool = False, **_: Any) -> Callable:
    """A function that gives the Jacobian of func."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        from .autograd import functional
        aux: list = []

        def part(*chosen: Any) -> Any:
            changed = list(args)
            for number, value in zip(numbers, chosen):
                changed[number] = value
            result = func(*changed, **kwargs)
            if has_aux:
                aux[:] = [result[1]]
                return result[0]
            return result
        create = any(x.requires_grad for x in _tensors(args)[1])
        inputs = args[numbers[0]] if isinstance(argnums, int) else tuple(args[number] for number in numbers)
        found = functional.jacobian(part, inputs, create_graph=create)
        return (found, aux[0]) if has_aux else found
    return wrapped


jacfwd = jacrev


def hessian(func: Callable, argnums: int | Sequence[int] = 0) -> Callable:
    """A function that gives the second derivatives of func."""
    def slopes(*args: Any, **kwargs: Any) -> Any:
        return grad(func, argnums)(*args, **kwargs)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return jacrev(slopes, argnums)(*args, **kwargs)
    return wrapped


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable:
    """A function that calls func for each slice of its arguments along in_dims (None: the whole) and stacks the
    results along out_dims. The calls are recorded one by one; the daemon runs them together."""
    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        dims = in_dims if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
        if len(dims) != len(args):
            raise InvalidError(f"vmap: in_dims is not compatible with the structure of inputs: {len(dims)} dims for "
                               f"{len(args)} arguments")
        parts = []
        for value, dim in zip(args, dims):
            structure, tensors = _tensors(value)
            own = dim if isinstance(dim, (tuple, list, dict)) else None
            each = _tensors_dims(own, len(tensors)) if own is not None else [dim] * len(tensors)
            parts.append((structure, tensors, each))
        sizes = {x.shape[d] for _, tensors, each in parts for x, d in zip(tensors, each) if d is not None}
        if not sizes:
            raise InvalidError("vmap: at least one argument needs a dim to map over")
        if len(sizes) > 1:
            raise InvalidError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                               f"{sorted(sizes)}")
        results = []
        for index in range(sizes.pop()):
            sliced = [_restore(structure, [x if d is None else x.select(d, index) for x, d in zip(tensors, each)])
                      for structure, tensors, each in parts]
            results.append(_tensors(func(*sliced, **kwargs)))
        structure = results[0][0]
        count = len(results[0][1])
        outs = list(out_dims) if isinstance(out_dims, (tuple, list)) else [out_dims] * count
        stacked = [stack([tensors[k] for _, tensors in results], outs[k]) for k in range(count)]
        return _restore(structure, stacked)
    return wrapped


def _tensors_dims(dims: Any, count: int) -> list:
    flat = list(dims.values()) if isinstance(dims, dict) else list(dims)
    if len(flat) != count:
        raise InvalidError(f"vmap: in_dims has {len(flat)} entries for {count} tensors")
    return flat


def functional_call(module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: dict | None = None, *,
                    tie_weights: bool = True, strict: bool = False) -> Any:
    """module(*args, **kwargs) with other tensors in place of its parameters and buffers, by name."""
    dicts = parameter_and_buffer_dicts if isinstance(parameter_and_buffer_dicts, (tuple, list)) \
        else (parameter_and_buffer_dicts,)
    given = {name: tensor for one in dicts for name, tensor in one.items()}
    owners = {name: (owner, key, store) for name, owner, key, store in _places(module)}
    unexpected = sorted(set(given) - set(owners))
    if unexpected and strict:
        raise InvalidError(f"Unexpected key(s): {', '.join(unexpected)}.")
    if strict and set(owners) - set(given):
        raise InvalidError(f"Missing key(s): {', '.join(sorted(set(owners) - set(given)))}.")
    values = {name: getattr(owner, store)[key] for name, (owner, key, store) in owners.items()}
    tied = {id(values[name]): tensor for name, tensor in given.items() if name in values} if tie_weights else {}
    kept = []
    try:
        for name, (owner, key, store) in owners.items():
            tensor = given.get(name, tied.get(id(values[name])))
            if tensor is not None:
                kept.append((getattr(owner, store), key, values[name]))
                getattr(owner, store)[key] = tensor
        args = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*args, **(kwargs or {}))
    finally:
        for place, key, own in kept:
            place[key] = own


def _places(module: Any) -> list:
    found = []
    for prefix, owner in module.named_modules():
        for store in ("_parameters", "_buffers"):
            for key, value in getattr(owner, store).items():
                if value is not None:
                    found.append((f"{prefix}.{key}" if prefix else key, owner, key, store))
    return found


def stack_module_state(models: Sequence[Any]) -> tuple[dict, dict]:
    """The parameters and the buffers of equal models, stacked by name along a new first dim."""
    if not models:
        raise InvalidError("stack_module_state: Expected at least one model, got 0.")

    def stacked(of: Callable) -> dict:
        return {name: stack([dict(of(model))[name].detach() for model in models]).requires_grad_(tensor.requires_grad)
                for name, tensor in of(models[0])}
    return stacked(lambda m: m.named_parameters()), stacked(lambda m: m.named_buffers())
