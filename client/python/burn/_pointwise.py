# SPDX-License-Identifier: Apache-2.0
"""Pointwise functions, also as methods and in-place methods of Tensor."""
from __future__ import annotations

from typing import Any, Callable

from . import _core, _ops
from ._core import ArgumentError, InvalidError, UnsupportedError
from ._creation import draw
from ._dtype import as_dtype, bfloat16, bool_, float16, float32, float64, int8, int16, int32, int64, uint8
from ._tensor import Tensor, assign

FUNCTIONS: dict[str, Callable] = {}  # public names of this module, filled by the decorators


def need_tensor(x: Any, name: str) -> None:
    if not isinstance(x, Tensor):
        raise ArgumentError(f"{name}(): argument 'input' must be Tensor, not {type(x).__name__}")


def need_float(x: Any, name: str, kind: type = UnsupportedError) -> None:
    """A tensor of floats, else ArgumentError or what PyTorch raises for the function."""
    need_tensor(x, name)
    if not x.dtype.is_floating_point:
        raise kind(f"{name}(): not implemented for {x.dtype}, only for floating-point dtypes; cast first")


def method(function: Callable, *names: str, inplace: bool = True) -> Callable:
    """Makes a function public under its name (and others), as a method, and with _ as an in-place method."""
    for name in names or (function.__name__,):
        FUNCTIONS[name] = function
        if name not in _core.Tensor.__dict__:
            setattr(Tensor, name, function)
        if inplace:
            def write(self: Tensor, *args: Any, _function: Callable = function, **kwargs: Any) -> Tensor:
                return assign(self, _function(self, *args, **kwargs))
            write.__name__ = name + "_"
            write.__doc__ = f"In-place form of {name}()."
            setattr(Tensor, name + "_", write)
            FUNCTIONS.setdefault(name + "_", write)
    return function


def _unary(name: str, op: Callable, *aliases: str, inplace: bool = True) -> None:
    def function(input: Tensor) -> Tensor:
        need_tensor(input, name)
        return op(input)
    function.__name__, function.__doc__ = name, op.__doc__
    method(function, name, *aliases, inplace=inplace)


for _name in ("exp log sqrt rsqrt square sin cos tan tanh sigmoid erf erfc expm1 log1p log2 log10 exp2 floor ceil "
              "sinh cosh lgamma digamma reciprocal").split():
    _unary(_name, getattr(_ops, _name))
for _name, _aliases in (("abs", ("absolute",)), ("neg", ("negative",)), ("asin", ("arcsin",)), ("acos", ("arccos",)),
                        ("atan", ("arctan",)), ("asinh", ("arcsinh",)), ("acosh", ("arccosh",)),
                        ("atanh", ("arctanh",)), ("trunc", ("fix",))):
    _unary(_name, getattr(_ops, _name), *_aliases)
for _name in ("isnan", "isinf", "isfinite", "logical_not", "bitwise_not"):
    _unary(_name, getattr(_ops, _name), inplace=_name.endswith("not"))


def _for_bools(name: str, op: Callable, of_bools: Callable, *aliases: str) -> None:
    """A function whose instruction takes numbers only."""
    def made(input: Tensor) -> Tensor:
        return of_bools(input) if input.dtype is bool_ else op(input)
    made.__doc__ = op.__doc__
    _unary(name, made, *aliases)


def _refuse_bools(input: Tensor) -> Tensor:
    raise InvalidError("Boolean inputs not supported for relu")


_for_bools("sign", _ops.sign, _ops.clone, "sgn")
_for_bools("square", _ops.square, lambda input: input.to(int64))
_for_bools("relu", _ops.relu, _refuse_bools)


@method
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """To the nearest integer, halves to even."""
    need_tensor(input, "round")
    if decimals == 0:
        return _ops.round(input)
    need_float(input, "round")
    return _ops.round(input * 10.0 ** decimals) / 10.0 ** decimals


@method
def frac(input: Tensor) -> Tensor:
    """The part after the point, with the sign of the input."""
    need_float(input, "frac")
    return input - _ops.trunc(input)


def _need_other(other: Any, name: str) -> None:
    if other is None:
        raise ArgumentError(f"{name}(): argument 'other' must be Tensor, not NoneType")


@method
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input + alpha * other."""
    _need_other(other, "add")
    return _ops.add(input, other if alpha == 1 else other * alpha)


@method
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input - alpha * other."""
    _need_other(other, "sub")
    return _ops.sub(input, other if alpha == 1 else other * alpha)


method(sub, "subtract")


@method
def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """other - alpha * input."""
    return _ops.sub(other, input if alpha == 1 else input * alpha)


def _binary(name: str, op: Callable, *aliases: str, inplace: bool = True, numbers: str = "both") -> None:
    """numbers: which of the two may be a number: "both", "other" or "none"."""
    def function(input: Any, other: Any) -> Tensor:
        if not isinstance(input, Tensor) and (numbers != "both" or not isinstance(other, Tensor)):
            raise ArgumentError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
        if other is None or numbers == "none" and not isinstance(other, Tensor):
            raise ArgumentError(f"{name}(): argument 'other' must be Tensor, not {type(other).__name__}")
        return op(input, other)
    function.__name__, function.__doc__ = name, op.__doc__
    method(function, name, *aliases, inplace=inplace)




def _of_floats(name: str) -> Callable:
    """The op of that name for tensors of which one at least holds floats."""
    op = getattr(_ops, name)

    def made(input: Tensor, other: Tensor) -> Tensor:
        if not input.dtype.is_floating_point and not other.dtype.is_floating_point:
            need_float(input, name)
        return op(input, other)
    made.__doc__ = op.__doc__
    return made


def _of_all(op: Callable, of_bools: Callable) -> Callable:
    """An op on numbers, another on two tensors of bools."""
    def made(input: Tensor, other: Tensor) -> Tensor:
        return (of_bools if input.dtype is bool_ and other.dtype is bool_ else op)(input, other)
    made.__doc__ = op.__doc__
    return made


_binary("mul", _ops.mul, "multiply")
_binary("remainder", _ops.remainder)
_binary("fmod", _ops.fmod, numbers="other")
_binary("floor_divide", _ops.floor_divide)
_binary("xlogy", _ops.xlogy)
_binary("copysign", _ops.copysign, numbers="other")
_binary("ldexp", _ops.ldexp, numbers="none")
_binary("atan2", _ops.atan2, "arctan2", numbers="none")
_binary("maximum", _ops.maximum, inplace=False, numbers="none")
_binary("minimum", _ops.minimum, inplace=False, numbers="none")
_binary("fmax", _of_all(_ops.fmax, _ops.maximum), inplace=False, numbers="none")
_binary("fmin", _of_all(_ops.fmin, _ops.minimum), inplace=False, numbers="none")
_binary("hypot", _of_floats("hypot"), numbers="none")
_binary("logaddexp", _of_floats("logaddexp"), inplace=False, numbers="none")
_binary("logaddexp2", _of_floats("logaddexp2"), inplace=False, numbers="none")
_binary("nextafter", _of_floats("nextafter"), numbers="none")
for _name, _aliases in (("eq", ()), ("ne", ("not_equal",)), ("lt", ("less",)), ("le", ("less_equal",)),
                        ("gt", ("greater",)), ("ge", ("greater_equal",))):
    _binary(_name, getattr(_ops, _name), *_aliases, numbers="other")
for _name in ("logical_and", "logical_or", "logical_xor"):
    _binary(_name, getattr(_ops, _name), numbers="none")
for _name in ("bitwise_and bitwise_or bitwise_xor bitwise_left_shift "
              "bitwise_right_shift").split():
    _binary(_name, getattr(_ops, _name))


@method
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """True division, or rounded towards zero ("trunc") or down ("floor")."""
    _need_other(other, "div")
    if rounding_mode is None:
        return _ops.div(input, other)
    if rounding_mode == "floor":
        return _ops.floor_divide(input, other)
    if rounding_mode != "trunc":
        raise InvalidError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                           f"{rounding_mode!r}")
    dtypes = [x.dtype.is_floating_point if isinstance(x, Tensor) else isinstance(x, float) for x in (input, other)]
    if any(dtypes):
        return _ops.trunc(_ops.div(input, other))
    return _ops.div(_ops.sub(input, _ops.fmod(input, other)), other).to(_ops.add(input, other).dtype)


method(div, "divide", "true_divide")


@method
def pow(input: Any, exponent: Any) -> Tensor:
    """input to the power of exponent."""
    if isinstance(input, Tensor) and input.dtype is bool_ and isinstance(exponent, bool):
        return _ops.logical_or(input, not exponent)
    return input ** exponent


@method
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Limited to [min, max]; each a number, a tensor or None. Where they cross, max wins."""
    need_tensor(input, "clamp")
    if min is None and max is None:
        raise InvalidError("clamp(): at least one of min and max must not be None")
    return _ops.clamp(input, min, max)


method(clamp, "clip")


@method
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """At least min."""
    return _ops.clamp(input, min, None)


@method
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """At most max."""
    return _ops.clamp(input, None, max)


@method
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """value where mask is true, else input."""
    return _ops.masked_fill(input, mask, value)


@method
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """input + weight * (end - input)."""
    need_float(input, "lerp")
    return _ops.lerp(input, end, weight)


@method
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 * tensor2."""
    return _ops.addcmul(input, tensor1, tensor2, value)


@method
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    if not tensor1.dtype.is_floating_point and not tensor2.dtype.is_floating_point:
        raise InvalidError("Integer division with addcdiv is not supported: cast the tensors to floats, or use div with "
                           "a rounding_mode")
    return _ops.addcdiv(input, tensor1, tensor2, value)


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """input where condition is true, else other."""
    if input is None and other is None:
        return FUNCTIONS["nonzero"](condition, as_tuple=True)
    if input is None or other is None:
        raise ArgumentError("where() takes a condition alone, or a condition, input and other")
    if condition.dtype is not bool_:
        if condition.dtype is not uint8:
            raise InvalidError(f"where expected condition to be a boolean tensor, but got a tensor with dtype "
                               f"{condition.dtype}")
        condition = condition != 0
    return _ops.where(condition, input, other)


for _name, _count in _ops.PLAIN.items():  # those that need no more than their row
    if _name not in FUNCTIONS:
        (_unary if _count == 1 else _binary)(_name, getattr(_ops, _name))

FUNCTIONS["where"] = where
Tensor.where = lambda self, condition, other: where(condition, self, other)


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """The dtype of tensor1 + tensor2."""
    return _ops.add(*(x.detach() if isinstance(x, Tensor) else x for x in (tensor1, tensor2))).dtype


def promote_types(type1: Any, type2: Any) -> Any:
    """The dtype that tensors of these two dtypes give together."""
    return result_type(_core.full((1,), 0, as_dtype(type1)), _core.full((1,), 0, as_dtype(type2)))


def can_cast(from_: Any, to: Any) -> bool:
    """Whether an in-place operation may write results of one dtype into a tensor of the other."""
    def kind(d: Any) -> int:
        return 2 if d.is_floating_point else 0 if d is bool_ else 1
    return kind(as_dtype(from_)) <= kind(as_dtype(to))


FUNCTIONS["result_type"] = result_type
FUNCTIONS["promote_types"], FUNCTIONS["can_cast"] = promote_types, can_cast


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape and elements."""
    need_tensor(input, "equal")
    need_tensor(other, "equal")
    return tuple(input.shape) == tuple(other.shape) and bool((input == other).all())


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Where |input - other| <= atol + rtol * |other|."""
    need_tensor(other, "isclose")
    if input.dtype is not other.dtype:
        raise InvalidError(f"isclose(): {input.dtype} did not match {other.dtype}")
    if rtol < 0 or atol < 0:
        raise InvalidError(f"rtol and atol must be greater than or equal to zero, but got {rtol} and {atol}")
    close = (input == other) | ((input - other).abs() <= atol + rtol * other.abs()) & other.isfinite()
    return close | (input.isnan() & other.isnan()) if equal_nan else close


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether isclose holds for all elements."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


FUNCTIONS["equal"] = Tensor.equal = equal
FUNCTIONS["isclose"] = Tensor.isclose = isclose
FUNCTIONS["allclose"] = Tensor.allclose = allclose
FUNCTIONS["is_tensor"] = lambda x: isinstance(x, Tensor)
FUNCTIONS["numel"] = lambda x: x.numel()

# ---- dtype and device ----


def _to(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False,
        non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor in another dtype. Devices: only the connection's own."""
    from ._creation import check_device
    from ._dtype import device as Device, dtype as Dtype
    for item in args:
        if isinstance(item, Tensor):
            dtype = item.dtype
        elif isinstance(item, (str, Device)):
            device = item
        elif isinstance(item, Dtype) or isinstance(item, type):
            dtype = item
        elif not isinstance(item, bool) and item is not None:
            raise ArgumentError(f"to() takes a dtype, a device or a Tensor, got {type(item).__name__}")
    check_device(device)
    dtype = as_dtype(dtype)
    if dtype is None or dtype is self.dtype:
        return self.clone() if copy else self
    return _ops.cast(self, dtype)


Tensor.to = _to
Tensor.type_as = lambda self, other: self.to(other.dtype)
Tensor.cpu = lambda self: self
for _name, _dtype in (("float", float32), ("double", float64), ("half", float16), ("bfloat16", bfloat16),
                      ("long", int64), ("int", int32), ("short", int16), ("char", int8), ("byte", uint8),
                      ("bool", bool_)):
    setattr(Tensor, _name, lambda self, *, _dtype=_dtype: self.to(_dtype))
    getattr(Tensor, _name).__doc__ = f"The tensor as {_dtype.name}."
Tensor.is_floating_point = lambda self: self.dtype.is_floating_point
Tensor.is_complex = lambda self: False
Tensor.is_signed = lambda self: self.dtype.is_signed
FUNCTIONS["is_floating_point"] = lambda x: x.dtype.is_floating_point
FUNCTIONS["is_signed"] = lambda x: x.dtype.is_signed
FUNCTIONS["is_complex"] = lambda x: False


@method
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A tensor of its own with the same values; gradients flow through."""
    return _ops.clone(input)


Tensor.contiguous = lambda self, memory_format=None: self if self.is_contiguous() else _ops.clone(self)
Tensor.is_contiguous = lambda self, memory_format=None: self._contiguous

# ---- filling in place ----


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Writes src, broadcast and cast, over this tensor."""
    if self.requires_grad and not self.is_leaf and _core.grad_enabled():  # what stood here has the gradient 0
        shape = tuple(self.shape)
        src = _ops.slice_update(self, src, (0,) * len(shape), shape, (1,) * len(shape))
    return assign(self, src, cast=True)


def fill_(self: Tensor, value: Any) -> Tensor:
    """Writes one number everywhere."""
    return assign(self, value, cast=True)


def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Any = None) -> Tensor:
    """Uniform numbers between the two."""
    return assign(self, _ops.uniform(from_, to, tuple(self.shape), self.dtype, *draw(self.numel(), generator)))


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Normal numbers of the given mean and standard deviation."""
    return assign(self, _ops.normal(mean, std, tuple(self.shape), self.dtype, *draw(self.numel(), generator)))


def bernoulli_(self: Tensor, p: float = 0.5, *, generator: Any = None) -> Tensor:
    """1 with probability p, else 0."""
    chance = _core.full(tuple(self.shape), p, float32)
    return assign(self, _ops.bernoulli(chance, *draw(self.numel(), generator)), cast=True)


def random_(self: Tensor, from_: int = 0, to: int | None = None, *, generator: Any = None) -> Tensor:
    """Integers from the first to the second number less 1; of one number, from 0 on; of none, up to what the dtype
    holds exactly."""
    if to is None:
        from_, to = 0, from_ or 2 ** (24 if self.dtype.is_floating_point else 31 if self.dtype.itemsize > 3 else 7)
    return assign(self, _ops.randint(from_, to, tuple(self.shape), int64, *draw(self.numel(), generator)), cast=True)


for _function in (copy_, fill_, uniform_, normal_, bernoulli_, random_):
    setattr(Tensor, _function.__name__, _function)
Tensor.zero_ = lambda self: fill_(self, 0)
FUNCTIONS["fill_"], FUNCTIONS["zero_"] = fill_, Tensor.zero_
FUNCTIONS["fill"] = lambda input, value: _ops.clone(input).fill_(value)
FUNCTIONS["detach"], FUNCTIONS["detach_"] = lambda input: input.detach(), Tensor.detach_
