# SPDX-License-Identifier: Apache-2.0
"""Kullback-Leibler divergences of pairs of distributions."""
from __future__ import annotations

import math
from typing import Any, Callable

from .._core import ArgumentError, InvalidError, UnsupportedError
from .. import _ops
from .._tensor import Tensor
from ..linalg import solve_triangular
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import EULER, Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import sum_rightmost

_rules: dict[tuple[type, type], Callable] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """A decorator: the function of (p, q) that it decorates gives the divergence of these types and of their subtypes."""
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise ArgumentError(f"Expected type_p and type_q to be Distribution subclasses but got {kind}")

    def register(function: Callable) -> Callable:
        _rules[type_p, type_q] = function
        return function
    return register


def _rule(p: type, q: type) -> Callable | None:
    """The rule of the nearest types; of two equally near ones that with the nearer p."""
    for steps in range(len(p.__mro__) + len(q.__mro__)):
        for i in range(min(steps, len(p.__mro__) - 1) + 1):
            if steps - i < len(q.__mro__) and (p.__mro__[i], q.__mro__[steps - i]) in _rules:
                return _rules[p.__mro__[i], q.__mro__[steps - i]]
    return None


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The divergence of p from q: the mean of log p(x) - log q(x) for x drawn from p. NotImplementedError for pairs of
    types without a rule; register_kl adds one."""
    rule = _rule(type(p), type(q))
    if rule is None:
        raise UnsupportedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
    return rule(p, q)


def _times_log(weights: Tensor, ratio: Tensor) -> Tensor:
    """weights * ratio, 0 where the weight is 0."""
    return (weights * ratio).masked_fill(weights == 0, 0)


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio - 1 - ratio.log())


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    one = p.probs * (_ops.softplus(-q.logits, 1.0, 20.0) - _ops.softplus(-p.logits, 1.0, 20.0))
    one = one.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    zero = (1 - p.probs) * (_ops.softplus(q.logits, 1.0, 20.0) - _ops.softplus(p.logits, 1.0, 20.0))
    return one + zero.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise UnsupportedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return found.masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    found = p.probs * (p.logits - q.logits)
    found = found.masked_fill((q.probs == 0).expand(tuple(found.shape)), math.inf)
    return found.masked_fill((p.probs == 0).expand(tuple(found.shape)), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise UnsupportedError("KL between Independents with different reinterpreted_batch_ndims is not implemented")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise UnsupportedError("KL between TransformedDistributions needs equal transforms and event shapes")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise InvalidError("KL-divergence between two Multivariate Normals with different event shapes cannot be computed")
    shape = (q.scale_tril @ p.scale_tril).shape
    apart = (q.loc - p.loc).unsqueeze(-1).expand(*shape[:-1], 1)
    spread = (solve_triangular(q.scale_tril, p.scale_tril.expand(shape), upper=False) ** 2).sum((-2, -1))
    square = (solve_triangular(q.scale_tril, apart, upper=False) ** 2).sum((-2, -1))
    return q._half_log_det() - p._half_log_det() + 0.5 * (spread + square - p.event_shape[0])


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return found.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    apart = (p.loc - q.loc).abs()
    return -(p.scale / q.scale).log() + apart / q.scale + p.scale / q.scale * (-apart / p.scale).exp() - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    return (q.concentration * (p.rate / q.rate).log() + q.concentration.lgamma() - p.concentration.lgamma()
            + (p.concentration - q.concentration) * p.concentration.digamma()
            + (q.rate - p.rate) * (p.concentration / p.rate))


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    return _dirichlet(p._both, q._both)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    share = a.sum(-1).lgamma() - b.sum(-1).lgamma() + (b.lgamma() - a.lgamma()).sum(-1)
    return share + ((a - b) * (a.digamma() - a.sum(-1, True).digamma())).sum(-1)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return _times_log(p.rate, p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, place, other = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    more = (place - other + (1 + ratio).lgamma()).exp()
    return -ratio.log() - place + other + ratio * EULER + more - (1 + EULER)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    return ((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2).log() - (4 * p.scale * q.scale).log()


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return found.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -q.concentration * ratio.log() + ratio + q.concentration.lgamma() + q.concentration * EULER - (1 + EULER)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


def _normal_cross(p: Any, q: Any) -> Tensor:
    """The mean of -log q(x) for a normal q, by the mean and the variance of p."""
    square = p.variance + (p.mean - q.loc) ** 2
    return q.scale.log() + 0.5 * math.log(2 * math.pi) + square / (2 * q.scale ** 2)


@register_kl(Uniform, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Laplace, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Beta, Normal)
def _to_normal(p: Any, q: Any) -> Tensor:
    return _normal_cross(p, q) - p.entropy()


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    apart = p.loc - q.loc
    ratio = apart / p.scale
    size = math.sqrt(2 / math.pi) * p.scale * (-0.5 * ratio ** 2).exp() + apart * (math.sqrt(0.5) * ratio).erf()
    return -p.entropy() + (2 * q.scale).log() + size / q.scale


@register_kl(Beta, Uniform)
def _beta_uniform(p: Any, q: Any) -> Tensor:
    found = (q.high - q.low).log() - p.entropy()
    return found.masked_fill((q.low > 0) | (q.high < 1), math.inf)


@register_kl(Uniform, Exponential)
@register_kl(Beta, Exponential)
def _to_exponential(p: Any, q: Any) -> Tensor:
    found = q.rate * p.mean - q.rate.log() - p.entropy()
    return found if isinstance(p, Beta) else found.masked_fill(p.low < 0, math.inf)
