# SPDX-License-Identifier: Apache-2.0
"""Sequences of different lengths: padding, and packing for the recurrent layers.

A packed sequence holds the steps of all sequences one after another, first step first, the longest sequence
first. The client knows the lengths, so nothing has to be read from the daemon to run over one."""
from __future__ import annotations

from typing import Any, Iterable, NamedTuple, Sequence

from ..._core import InvalidError
from ..._creation import full, tensor as make_tensor
from ..._functions import cat, stack
from ..._tensor import Tensor


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """data [steps of all sequences, ...], batch_sizes [longest], and the order by length if it was sorted."""

    _sizes: list[int]

    def __new__(cls, data: Tensor, batch_sizes: Any = None, sorted_indices: Tensor | None = None,
                unsorted_indices: Tensor | None = None) -> "PackedSequence":
        if batch_sizes is None:
            raise InvalidError("PackedSequence needs batch_sizes, how many sequences have a first step, a second one, ...")
        sizes = batch_sizes.tolist() if isinstance(batch_sizes, Tensor) else [int(n) for n in batch_sizes]
        if not isinstance(batch_sizes, Tensor):
            batch_sizes = make_tensor(sizes)
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        packed = super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)
        packed._sizes = sizes
        return packed

    def _with(self, data: Tensor) -> "PackedSequence":
        packed = _Packed.__new__(PackedSequence, data, *self[1:])
        packed._sizes = self._sizes
        return packed

    def __reduce__(self) -> tuple:
        return PackedSequence, tuple(self)

    def to(self, *args: Any, **kwargs: Any) -> "PackedSequence":
        return self._with(self.data.to(*args, **kwargs))

    def float(self) -> "PackedSequence":
        return self._with(self.data.float())

    def double(self) -> "PackedSequence":
        return self._with(self.data.double())

    def half(self) -> "PackedSequence":
        return self._with(self.data.half())

    def cpu(self) -> "PackedSequence":
        return self

    @property
    def is_cuda(self) -> bool:
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes one."""
    if permutation is None:
        return None
    order = permutation.tolist()
    inverse = [0] * len(order)
    for place, source in enumerate(order):
        inverse[source] = place
    return make_tensor(inverse, dtype=permutation.dtype)


def _lengths(lengths: Any) -> list[int]:
    return [int(n) for n in (lengths.tolist() if hasattr(lengths, "tolist") else lengths)]


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False,
                         enforce_sorted: bool = True) -> PackedSequence:
    """Packs [L, N, ...] ([N, L, ...] with batch_first) by the length of each sequence.

    enforce_sorted says that lengths never grow; otherwise sequences are sorted, and the order kept.
    Errors: RuntimeError for lengths that are not sorted, not positive, or do not fit the batch."""
    sizes = _lengths(lengths)
    steps = input if not batch_first else input.transpose(0, 1)
    longest, batch = steps.shape[0], steps.shape[1]
    if len(sizes) != batch:
        raise InvalidError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={batch})")
    order = None
    if not enforce_sorted:
        order = sorted(range(batch), key=lambda row: -sizes[row])
        sizes = [sizes[row] for row in order]
        steps = steps.index_select(1, make_tensor(order))
    if any(n <= 0 for n in sizes):
        raise InvalidError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if any(a < b for a, b in zip(sizes, sizes[1:])):
        raise InvalidError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can "
                           "pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
                           "requirement if you do not need ONNX exportability.")
    if sizes and sizes[0] > longest:
        raise InvalidError(f"Expected lengths of at most {longest}, the padded length, but got {sizes[0]}")
    counts = [sum(n > step for n in sizes) for step in range(sizes[0] if sizes else 0)]
    places = make_tensor([step * batch + row for step, count in enumerate(counts) for row in range(count)])
    flat = steps.reshape((longest * batch,) + tuple(steps.shape[2:]))
    return PackedSequence(flat.index_select(0, places), counts, None if order is None else make_tensor(order))


def _padded_places(sizes: list[int]) -> tuple[list[int], int]:
    """For each (step, row) of the padded form its place in the packed data (any, where there is none)."""
    batch, start, places = sizes[0] if sizes else 0, 0, []
    for count in sizes:
        places += [start + row if row < count else 0 for row in range(batch)]
        start += count
    return places, batch


def _mask(sizes: list[int], batch: int) -> Tensor:
    """[steps, batch]: whether a sequence has that step."""
    return make_tensor([[row < count for row in range(batch)] for count in sizes])


def padded_steps(packed: PackedSequence) -> tuple[list[Tensor], list[Tensor] | None, int]:
    """The steps [batch, width] of all sequences, masks [batch, 1] of those that go on, and the batch."""
    places, batch = _padded_places(packed._sizes)
    shape = (len(packed._sizes), batch) + tuple(packed.data.shape[1:])
    steps = packed.data.index_select(0, make_tensor(places)).reshape(shape).unbind(0)
    masks = _mask(packed._sizes, batch).unsqueeze(2).unbind(0)
    return list(steps), list(masks), batch


def repacked(packed: PackedSequence, steps: list[Tensor]) -> PackedSequence:
    """Outputs of the steps, packed as packed is."""
    batch = packed._sizes[0]
    places = [step * batch + row for step, count in enumerate(packed._sizes) for row in range(count)]
    return packed._with(cat(steps).index_select(0, make_tensor(places)))


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """The padded form [L, N, ...] ([N, L, ...] with batch_first) and the lengths [N].

    total_length pads up to that length. Errors: ValueError where it is shorter than the longest sequence."""
    sizes = sequence._sizes
    longest = len(sizes)
    if total_length is not None and total_length < longest:
        raise InvalidError(f"Expected total_length to be at least the length of the longest sequence in input, but got "
                           f"total_length={total_length} and max sequence length being {longest}")
    places, batch = _padded_places(sizes)
    data = sequence.data
    tail = tuple(data.shape[1:])
    padded = data.index_select(0, make_tensor(places)).reshape((longest, batch) + tail)
    mask = _mask(sizes, batch).reshape((longest, batch) + (1,) * len(tail))
    padded = padded.masked_fill(~mask, padding_value)
    lengths = make_tensor([sum(row < count for count in sizes) for row in range(batch)])
    if total_length is not None and total_length > longest:
        padded = cat([padded, full((total_length - longest, batch) + tail, padding_value, dtype=data.dtype)])
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices]
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def pad_sequence(sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:
    """Sequences [n_i, ...] as one tensor [longest, N, ...] ([N, longest, ...] with batch_first)."""
    if padding_side not in ("right", "left"):
        raise InvalidError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    sequences = list(sequences)
    if not sequences:
        raise InvalidError("received an empty list of sequences")
    longest = max(sequence.shape[0] for sequence in sequences)
    made = []
    for sequence in sequences:
        missing = longest - sequence.shape[0]
        if missing:
            fill = full((missing,) + tuple(sequence.shape[1:]), padding_value, dtype=sequence.dtype)
            sequence = cat([sequence, fill] if padding_side == "right" else [fill, sequence])
        made.append(sequence)
    return stack(made, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences that pad_sequence had taken."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(rows.unbind(0), _lengths(lengths))]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences [n_i, ...]."""
    return pack_padded_sequence(pad_sequence(sequences), [sequence.shape[0] for sequence in sequences],
                                enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that pack_sequence had taken."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
