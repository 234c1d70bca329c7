# SPDX-License-Identifier: Apache-2.0
"""Distribution: shapes, checks of arguments, and what the distributions have in common."""
from __future__ import annotations

from typing import Any

from .._core import InvalidError, UnsupportedError
from .. import _ops
from .._dtype import Size
from .._tensor import Tensor, no_grad
from ..optim.optimizer import tracing
from . import constraints
from .utils import lazy_property


class Distribution:
    """Base class. batch_shape: how many distributions; event_shape: the shape of one sample of one of them.

    Arguments and values are checked (ValueError), which reads one number and so waits for the device; not with
    validate_args=False, and not within burn.jit."""

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    arg_constraints: Any = {}
    support: Any = None

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether arguments are checked where validate_args is None."""
        if value not in (True, False):
            raise InvalidError(f"validate_args is True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = Size(), event_shape: Any = Size(), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args and not tracing():
            self._check_arguments()

    def _check_arguments(self) -> None:
        checked = [(name, vars(self)[name], constraint) for name, constraint in self.arg_constraints.items()
                   if isinstance(vars(self).get(name), Tensor) and not constraints.is_dependent(constraint)]
        with no_grad():
            held = [constraint.check(value.detach()).all() for _, value, constraint in checked]
            if not held or bool(_ops.all(_ops.stack(held))):
                return
        name, value, constraint = next(entry for entry, ok in zip(checked, held) if not bool(ok))
        raise InvalidError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                           f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}")

    # ---- shapes ----

    @property
    def batch_shape(self) -> Size:
        """How many distributions there are."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one distribution."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = Size()) -> Size:
        return Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated to another batch shape."""
        made = type(self).__new__(type(self)) if _instance is None else _instance
        made.__dict__.update(vars(self))
        for name, value in vars(self).items():
            described = type(self).__dict__.get(name)
            if isinstance(described, lazy_property) and name not in self.arg_constraints:
                made.__dict__.pop(name)
            elif name in self.arg_constraints and isinstance(value, Tensor):
                own = value.shape[value.dim() - self.arg_constraints[name].event_dim:]
                made.__dict__[name] = value.expand(tuple(batch_shape) + tuple(own))
        made._batch_shape = Size(batch_shape)
        made._expanded(self)
        return made

    def _expanded(self, source: "Distribution") -> None:
        """What a subclass keeps besides its arguments, for the new batch shape."""

    # ---- what distributions are asked for ----

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise UnsupportedError

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise UnsupportedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise UnsupportedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Drawn values [*sample_shape, *batch_shape, *event_shape], without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """As sample, with gradients that flow to the parameters."""
        raise UnsupportedError

    def sample_n(self, n: int) -> Tensor:
        """sample((n,))."""
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at value."""
        raise UnsupportedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of at most value."""
        raise UnsupportedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of cdf."""
        raise UnsupportedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along a new first dim."""
        raise UnsupportedError

    def entropy(self) -> Tensor:
        """The entropy."""
        raise UnsupportedError

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return self.entropy().exp()

    # ---- checks ----

    def _validate_sample(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise InvalidError("The value argument to log_prob must be a Tensor")
        shape, event = tuple(value.shape), tuple(self._event_shape)
        if shape[len(shape) - len(event):] != event:
            raise InvalidError(f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}.")
        for n, m in zip(reversed(shape), reversed(tuple(self._batch_shape) + event)):
            if n != 1 and m != 1 and n != m:
                raise InvalidError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs "
                                   f"{self._batch_shape + self._event_shape}.")
        support = self.support
        if tracing() or support is None or constraints.is_dependent(support):
            return
        with no_grad():
            held = bool(support.check(value.detach()).all())
        if not held:
            raise InvalidError(f"Expected value argument ({type(value).__name__} of shape {shape}) to be within the support "
                               f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}")

    def _check(self, value: Tensor) -> None:
        """Where arguments are checked: those of log_prob, cdf and icdf too."""
        if self._validate_args:
            self._validate_sample(value)

    def __repr__(self) -> str:
        given = [name for name in self.arg_constraints if name in vars(self)]
        facts = []
        for name in given:
            value = vars(self)[name]
            several = isinstance(value, Tensor) and value.numel() != 1
            facts.append(f"{name}: {value.shape if several else value}")
        return f"{type(self).__name__}({', '.join(facts)})"
