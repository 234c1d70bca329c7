# SPDX-License-Identifier: Apache-2.0
"""RNN, LSTM and GRU over whole sequences, packed ones too."""
from __future__ import annotations

import math
import warnings
from typing import Any

from ..._core import ArgumentError, InvalidError
from ..._creation import empty, zeros
from ..._functions import cat, stack
from ..._tensor import Tensor
from .. import init
from .._recurrent import GATES, run_layer
from ..parameter import Parameter
from ..utils.rnn import PackedSequence, padded_steps, repacked
from .module import Module


class RNNBase(Module):
    """What the three share: parameters by layer and direction, checks, and the loop over layers."""

    mode: str

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        _check_arguments(mode, hidden_size, num_layers, dropout, proj_size)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        rows, width = GATES[mode] * hidden_size, proj_size or hidden_size
        directions = 2 if bidirectional else 1
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for direction in range(directions):
                suffix = f"_l{layer}" + ("_reverse" if direction else "")
                shapes = {"weight_ih": (rows, input_size if layer == 0 else width * directions),
                          "weight_hh": (rows, width)}
                if bias:
                    shapes.update(bias_ih=(rows,), bias_hh=(rows,))
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, name + suffix, Parameter(empty(shape, dtype=dtype, device=device)))
                self._all_weights.append([name + suffix for name in shapes])
                self._flat_weights_names += self._all_weights[-1]
        self.reset_parameters()

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: the daemon lays memory out itself."""

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False),
                            ("dropout", 0), ("bidirectional", False)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text

    # ---- the way through ----

    def _weights(self, layer: int, direction: int) -> dict[str, Tensor]:
        suffix = f"_l{layer}" + ("_reverse" if direction else "")
        names = self._all_weights[layer * (2 if self.bidirectional else 1) + direction]
        return {name[:-len(suffix)]: getattr(self, name) for name in names}

    def _state_shapes(self, batch: int) -> list[tuple[int, int, int]]:
        count = self.num_layers * (2 if self.bidirectional else 1)
        shapes = [(count, batch, self.proj_size or self.hidden_size)]
        return shapes + [(count, batch, self.hidden_size)] if self.mode == "LSTM" else shapes

    def _check_input(self, input: Tensor, rank: tuple[int, ...]) -> None:
        if input.dim() not in rank:
            wanted = " or ".join(f"{n}D" for n in rank)
            raise InvalidError(f"{self._get_name()}: Expected input to be {wanted}, got {input.dim()}D instead")
        if input.shape[-1] != self.input_size:
            raise InvalidError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, "
                               f"got {input.shape[-1]}")

    def _initial(self, hx: Any, batch: int, batched: bool, input: Tensor) -> list[Tensor]:
        """The states [layers * directions, batch, width]: h, for LSTM c too."""
        shapes = self._state_shapes(batch)
        if hx is None:
            return [zeros(shape, dtype=input.dtype) for shape in shapes]
        states = list(hx) if self.mode == "LSTM" else [hx]
        if len(states) != len(shapes):
            raise InvalidError(f"LSTM: hx must be a tuple (h_0, c_0), got {len(states)} tensors")
        for state, shape, name in zip(states, shapes, ("hidden[0]", "hidden[1]")):
            rank = 3 if batched else 2
            if state.dim() != rank:
                raise InvalidError(f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx should also be "
                                   f"{rank}-D but got {state.dim()}-D tensor")
            want = shape if batched else (shape[0], shape[2])
            if tuple(state.shape) != want:
                label = name if self.mode == "LSTM" else "hidden"
                raise InvalidError(f"Expected {label} size {want}, got {list(state.shape)}")
        return states if batched else [state.unsqueeze(1) for state in states]

    def _run(self, steps: list[Tensor], masks: list[Tensor] | None, states: list[Tensor]) -> tuple[list, list[Tensor]]:
        """All layers over a list of steps [batch, width]: the last layer's outputs, and the states at the end."""
        from .. import functional as F
        final: list[list[Tensor]] = [[] for _ in states]
        directions = 2 if self.bidirectional else 1
        for layer in range(self.num_layers):
            found = []
            for direction in range(directions):
                row = layer * directions + direction
                outputs, end = run_layer(self.mode, steps, masks, [state[row] for state in states],
                                         self._weights(layer, direction), bool(direction))
                found.append(outputs)
                for kept, state in zip(final, end):
                    kept.append(state)
            steps = found[0] if directions == 1 else [cat(pair, 1) for pair in zip(*found)]
            if self.dropout and self.training and layer < self.num_layers - 1:
                steps = [F.dropout(step, self.dropout) for step in steps]
        return steps, [stack(kept) for kept in final]

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        self._check_input(input, (2, 3))
        batched = input.dim() == 3
        at = 1 if self.batch_first and batched else 0
        states = self._initial(hx, input.shape[1 - at] if batched else 1, batched, input)
        steps = list(input.unbind(at)) if batched else [step.unsqueeze(0) for step in input.unbind(0)]
        if not steps:
            raise InvalidError("Expected sequence length to be larger than 0 in RNN")
        outputs, final = self._run(steps, None, states)
        output = stack(outputs, at) if batched else cat(outputs)
        final = final if batched else [state.squeeze(1) for state in final]
        return output, tuple(final) if self.mode == "LSTM" else final[0]

    def _forward_packed(self, input: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        self._check_input(input.data, (2,))
        steps, masks, batch = padded_steps(input)
        states = self._initial(hx, batch, True, input.data)
        if hx is not None and input.sorted_indices is not None:
            states = [state.index_select(1, input.sorted_indices) for state in states]
        outputs, final = self._run(steps, masks, states)
        if input.unsorted_indices is not None:
            final = [state.index_select(1, input.unsorted_indices) for state in final]
        return repacked(input, outputs), tuple(final) if self.mode == "LSTM" else final[0]


def _check_arguments(mode: str, hidden_size: Any, num_layers: int, dropout: Any, proj_size: int) -> None:
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
        raise InvalidError("dropout should be a number in range [0, 1] representing the probability of an element "
                           f"being zeroed, got {dropout!r}")
    if dropout > 0 and num_layers == 1:
        warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                      f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}", stacklevel=4)
    if not isinstance(hidden_size, int):
        raise ArgumentError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
    if hidden_size <= 0:
        raise InvalidError(f"hidden_size must be greater than zero, got {hidden_size}")
    if num_layers <= 0:
        raise InvalidError(f"num_layers must be greater than zero, got {num_layers}")
    if proj_size < 0:
        raise InvalidError(f"proj_size should be a positive integer or zero to disable projections, got {proj_size}")
    if proj_size >= hidden_size:
        raise InvalidError(f"proj_size has to be smaller than hidden_size, got {proj_size} and {hidden_size}")
    if proj_size and mode != "LSTM":
        raise InvalidError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh) at each step (or relu).

    Shapes: input [L, N, input_size] ([N, L, ...] with batch_first, [L, ...] without a batch) -> output
    [L, N, directions * hidden_size] and h_n [layers * directions, N, hidden_size]. A PackedSequence gives one."""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
                 bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 device: Any = None, dtype: Any = None) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise InvalidError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + nonlinearity.upper(), input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory; returns output and (h_n, c_n).

    Shapes: as RNN; with proj_size the outputs and h are of that width."""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
                         proj_size, device, dtype)


class GRU(RNNBase):
    """Gated recurrent unit. Shapes: as RNN."""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
                         device=device, dtype=dtype)
