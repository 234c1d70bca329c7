# SPDX-License-Identifier: Apache-2.0
"""One step of the recurrent layers, and the loop over a sequence; a step is a fixed number of ops."""
from __future__ import annotations

from .. import _ops
from .._tensor import Tensor

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


def lstm_step(x: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None,
              b_hh: Tensor | None, w_hr: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The next h and c. Shapes: x [N, in], h [N, H], c [N, H]; weights [4 * H, ...] in the order i, f, g, o."""
    gates = _ops.linear(x, w_ih, b_ih) + _ops.linear(h, w_hh, b_hh)
    h, c = _ops.lstm_step(*gates.chunk(4, -1), c)
    return (h if w_hr is None else _ops.linear(h, w_hr)), c


def gru_step(x: Tensor, h: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None) -> Tensor:
    """The next h. Shapes: x [N, in], h [N, H]; weights [3 * H, ...] in the order r, z, n."""
    gates_x, gates_h = _ops.linear(x, w_ih, b_ih), _ops.linear(h, w_hh, b_hh)
    return _ops.gru_step(*gates_x.chunk(3, -1), *gates_h.chunk(3, -1), h)


def rnn_step(x: Tensor, h: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None,
             relu: bool) -> Tensor:
    """The next h: tanh or relu of both projections."""
    total = _ops.linear(x, w_ih, b_ih) + _ops.linear(h, w_hh, b_hh)
    return _ops.relu(total) if relu else _ops.tanh(total)


def run_layer(mode: str, steps: list[Tensor], masks: list[Tensor] | None, states: list[Tensor],
              weights: dict[str, Tensor], backwards: bool) -> tuple[list[Tensor], list[Tensor]]:
    """One layer in one direction: the output of each step and the states after the last one.

    masks, if given, say at each step which rows still go on; the states of the others stay."""
    shared = (weights["weight_ih"], weights["weight_hh"], weights.get("bias_ih"), weights.get("bias_hh"))
    outputs: list[Tensor] = []
    for place in reversed(range(len(steps))) if backwards else range(len(steps)):
        if mode == "LSTM":
            new = list(lstm_step(steps[place], *states, *shared, weights.get("weight_hr")))
        elif mode == "GRU":
            new = [gru_step(steps[place], *states, *shared)]
        else:
            new = [rnn_step(steps[place], *states, *shared, mode == "RNN_RELU")]
        if masks is not None:
            new = [_ops.where(masks[place], after, before) for after, before in zip(new, states)]
        states = new
        outputs.append(states[0])
    return outputs[::-1] if backwards else outputs, states
