# SPDX-License-Identifier: Apache-2.0
"""L-BFGS; options and stopping rules are torch.optim.LBFGS's. It reads values to decide, so its step waits."""
from __future__ import annotations

from typing import Any, Callable, Iterable

from .._core import InvalidError
from .._functions import cat
from .._tensor import Tensor, enable_grad, no_grad
from .optimizer import Optimizer, check

_Point = tuple[float, float, Tensor, float]  # step, loss, gradient, slope along the direction


def _cubic_minimum(x1: float, f1: float, g1: float, x2: float, f2: float, g2: float,
                   bounds: tuple[float, float] | None = None) -> float:
    """The minimum between bounds of the cubic through two points with their slopes."""
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if not square >= 0:
        return (low + high) / 2
    d2 = square ** 0.5
    if x1 <= x2:
        at = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        at = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(at, low), high)


def _strong_wolfe(evaluate: Callable[[float], tuple[float, Tensor]], t: float, d: Tensor, loss: float, grad: Tensor,
                  slope: float, c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9,
                  max_ls: int = 25) -> tuple[float, Tensor, float, int]:
    """A step that meets the strong Wolfe conditions: (loss, gradient, step, evaluations)."""
    size = float(d.abs().max())

    def point(at: float) -> _Point:
        f, g = evaluate(at)
        return at, f, g, float(g.dot(d))

    start: _Point = (0.0, loss, grad, slope)
    before, now, count, tries = start, point(t), 1, 0
    bracket: list[_Point] | None = None
    while tries < max_ls:  # forward, until two points enclose what is looked for
        if now[1] > loss + c1 * now[0] * slope or (tries > 1 and now[1] >= before[1]):
            bracket = [before, now]
            break
        if abs(now[3]) <= -c2 * slope:
            return now[1], now[2], now[0], count
        if now[3] >= 0:
            bracket = [before, now]
            break
        low, high = now[0] + 0.01 * (now[0] - before[0]), now[0] * 10
        at = _cubic_minimum(before[0], before[1], before[3], now[0], now[1], now[3], (low, high))
        before, now = now, point(at)
        count, tries = count + 1, tries + 1
    if bracket is None:
        bracket = [start, now]
    return _zoom(point, bracket, loss, slope, size, count, tries, c1, c2, tolerance_change, max_ls)


def _zoom(point: Callable[[float], _Point], bracket: list[_Point], loss: float, slope: float, size: float, count: int,
          tries: int, c1: float, c2: float, tolerance_change: float, max_ls: int) -> tuple[float, Tensor, float, int]:
    """Narrows the bracket."""
    slow = False
    low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
    while tries < max_ls:
        if abs(bracket[1][0] - bracket[0][0]) * size < tolerance_change:
            break
        a, b = bracket
        at = _cubic_minimum(a[0], a[1], a[3], b[0], b[1], b[3])
        left, right = min(a[0], b[0]), max(a[0], b[0])
        edge = 0.1 * (right - left)
        if min(right - at, at - left) < edge:
            if slow or at >= right or at <= left:
                at = right - edge if abs(at - right) < abs(at - left) else left + edge
                slow = False
            else:
                slow = True
        else:
            slow = False
        now = point(at)
        count, tries = count + 1, tries + 1
        if now[1] > loss + c1 * at * slope or now[1] >= bracket[low][1]:
            bracket[high] = now
            low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
            continue
        done = abs(now[3]) <= -c2 * slope
        if not done and now[3] * (bracket[high][0] - bracket[low][0]) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = now
        if done:
            break
    return bracket[low][1], bracket[low][2], bracket[low][0], count


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last history_size changes; step(closure) evaluates the closure several times."""

    def __init__(self, params: Iterable[Any], lr: float = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:
        check(lr >= 0, "learning rate", lr)
        super().__init__(params, dict(lr=lr, max_iter=max_iter,
                                      max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
                                      tolerance_grad=tolerance_grad, tolerance_change=tolerance_change,
                                      history_size=history_size, line_search_fn=line_search_fn))
        if len(self.param_groups) != 1:
            raise InvalidError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _flat_gradient(self) -> Tensor:
        from .._creation import zeros
        return cat([zeros(p.numel(), dtype=p.dtype) if p.grad is None else p.grad.detach().reshape(-1)
                    for p in self._params])

    def _move(self, step: float, direction: Tensor) -> None:
        at = 0
        for p in self._params:
            p.add_(direction[at:at + p.numel()].reshape(p.shape), alpha=step)
            at += p.numel()

    def _evaluate_at(self, closure: Callable, start: list[Tensor], direction: Tensor
                     ) -> Callable[[float], tuple[float, Tensor]]:
        def evaluate(step: float) -> tuple[float, Tensor]:
            self._move(step, direction)
            loss = float(closure())
            gradient = self._flat_gradient()
            for p, value in zip(self._params, start):
                p.copy_(value)
            return loss, gradient
        return evaluate

    def _direction(self, state: dict, gradient: Tensor, history_size: int) -> Tensor:
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -gradient
        dirs, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        ys = y.dot(s)
        if float(ys) > 1e-10:
            if len(dirs) == history_size:
                for kept in (dirs, steps, ro):
                    kept.pop(0)
            dirs.append(y)
            steps.append(s)
            ro.append(1.0 / ys)
            state["H_diag"] = ys / y.dot(y)
        count = len(dirs)
        al: list = [None] * history_size
        q = -gradient
        for i in range(count - 1, -1, -1):
            al[i] = steps[i].dot(q) * ro[i]
            q = q - dirs[i] * al[i]
        d = q * state["H_diag"]
        for i in range(count):
            d = d + steps[i] * (al[i] - dirs[i].dot(d) * ro[i])
        state["al"] = al
        return d

    def step(self, closure: Callable[[], Any]) -> Any:
        """Up to max_iter iterations; gives the closure's first result."""
        def evaluated() -> Any:
            with enable_grad():
                return closure()
        with no_grad():
            return self._iterate(evaluated)

    def _iterate(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = closure()
        loss, evaluations = float(first), 1
        state["func_evals"] += 1
        gradient = self._flat_gradient()
        if float(gradient.abs().max()) <= group["tolerance_grad"]:
            return first
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = state["d"] = self._direction(state, gradient, group["history_size"])
            state.update(prev_flat_grad=gradient, prev_loss=loss)
            t = float(group["lr"])
            if state["n_iter"] == 1:
                t *= min(1.0, 1.0 / float(gradient.abs().sum()))
            state["t"] = t
            slope = float(gradient.dot(d))
            if slope > -group["tolerance_change"]:
                break
            former, used = loss, 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise InvalidError("only 'strong_wolfe' is supported")
                start = [p.detach().clone() for p in self._params]
                evaluate = self._evaluate_at(closure, start, d)
                loss, gradient, t, used = _strong_wolfe(evaluate, t, d, loss, gradient, slope)
                state["t"] = t
                self._move(t, d)
            else:
                self._move(t, d)
                if iteration != group["max_iter"]:
                    loss, used = float(closure()), 1
                    gradient = self._flat_gradient()
            evaluations += used
            state["func_evals"] += used
            if iteration == group["max_iter"] or evaluations >= group["max_eval"] \
                    or (used and float(gradient.abs().max()) <= group["tolerance_grad"]) \
                    or float((d * t).abs().max()) <= group["tolerance_change"] \
                    or abs(loss - former) < group["tolerance_change"]:
                break
        return first
