# SPDX-License-Identifier: Apache-2.0
"""RNNCell, LSTMCell and GRUCell: one step of the recurrent layers."""
from __future__ import annotations

import math
from typing import Any

from ..._core import InvalidError
from ..._creation import empty, zeros
from ..._tensor import Tensor
from .. import init
from .._recurrent import gru_step, lstm_step, rnn_step
from ..parameter import Parameter
from .module import Module


class RNNCellBase(Module):
    """Parameters and checks of the cells."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        for name, shape in (("weight_ih", (rows, input_size)), ("weight_hh", (rows, hidden_size)),
                            ("bias_ih", (rows,)), ("bias_hh", (rows,))):
            wanted = bias or name.startswith("weight")
            self.register_parameter(name, Parameter(empty(shape, dtype=dtype, device=device)) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        return text

    def _prepared(self, input: Tensor, *states: Tensor | None) -> tuple[Tensor, list[Tensor]]:
        """Input and states as [batch, width]."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise InvalidError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if input.shape[-1] != self.input_size:
            raise InvalidError(f"input has inconsistent input_size: got {input.shape[-1]} expected {self.input_size}")
        batched = input if input.dim() == 2 else input.unsqueeze(0)
        made = []
        for state in states:
            if state is None:
                state = zeros(batched.shape[0], self.hidden_size, dtype=input.dtype)
            elif state.dim() not in (1, 2):
                raise InvalidError(f"{name}: Expected hidden to be 1D or 2D, got {state.dim()}D instead")
            state = state if state.dim() == 2 else state.unsqueeze(0)
            if state.shape[1] != self.hidden_size:
                raise InvalidError(f"hidden has inconsistent hidden_size: got {state.shape[1]}, "
                                   f"expected {self.hidden_size}")
            if state.shape[0] != batched.shape[0]:
                raise InvalidError(f"Input batch size {batched.shape[0]} doesn't match hidden batch size "
                                   f"{state.shape[0]}")
            made.append(state)
        return batched, made

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh) (or relu). Shapes: [N, input_size] and [N, hidden_size], or no N."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def extra_repr(self) -> str:
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else f"{text}, nonlinearity={self.nonlinearity}"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise InvalidError(f"Unknown nonlinearity: {self.nonlinearity}")
        x, (h,) = self._prepared(input, hx)
        h = rnn_step(x, h, *self._weights(), self.nonlinearity == "relu")
        return h if input.dim() == 2 else h.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of LSTM; takes and returns (h, c)."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        x, (h, c) = self._prepared(input, *((None, None) if hx is None else hx))
        h, c = lstm_step(x, h, c, *self._weights())
        return (h, c) if input.dim() == 2 else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of GRU."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        x, (h,) = self._prepared(input, hx)
        h = gru_step(x, h, *self._weights())
        return h if input.dim() == 2 else h.squeeze(0)
