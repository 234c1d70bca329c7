# SPDX-License-Identifier: Apache-2.0
"""save and load: dicts of tensors as safetensors (8-byte length, JSON header, raw little-endian bytes).

Source: the safetensors format description. Loading never executes code from the file."""
from __future__ import annotations

import json
import mmap
import os
from typing import Any, Mapping

from . import _core
from ._dtype import BY_NAME
from ._tensor import Tensor

_TO_FILE = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
            "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8",
            "bool": "BOOL"}
_FROM_FILE = {file: name for name, file in _TO_FILE.items()}
_HEADER_MAX = 100 << 20


def save(tensors: Mapping[str, Tensor], path: Any, metadata: Mapping[str, str] | None = None) -> None:
    """Writes a dict of named tensors, such as a state_dict. The file appears whole or not at all."""
    if not isinstance(tensors, Mapping) or not all(isinstance(t, Tensor) for t in tensors.values()):
        raise TypeError("save() takes a dict of Tensors, such as module.state_dict()")
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": _TO_FILE[tensor.dtype.name], "shape": list(tensor.shape),
                        "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    part = f"{os.fspath(path)}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            file.write(len(text).to_bytes(8, "little"))
            file.write(text)
            for tensor in tensors.values():
                file.write(tensor.detach().tobytes())
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


def load(path: Any) -> dict[str, Tensor]:
    """Reads a safetensors file into a dict of tensors. ValueError says what is wrong with a bad one."""
    size = os.stat(path).st_size
    with open(path, "rb") as file:
        if size < 8:
            raise ValueError(f"{path}: {size} bytes are too few for a safetensors file")
        length = int.from_bytes(file.read(8), "little")
        if length > min(size - 8, _HEADER_MAX):
            raise ValueError(f"{path}: the header claims {length} bytes, the file has {size - 8} after the length")
        try:
            header = json.loads(file.read(length))
        except (ValueError, UnicodeDecodeError, RecursionError) as error:
            raise ValueError(f"{path}: the header is no JSON: {error}") from None
        if not isinstance(header, dict):
            raise ValueError(f"{path}: the header is no JSON object")
        start, room = 8 + length, size - 8 - length
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    found = {}
    for name, entry in header.items():
        if name != "__metadata__":
            found[name] = _read(path, name, entry, view[start:], room)
    return found


def _read(path: Any, name: str, entry: Any, data: memoryview, room: int) -> Tensor:
    def whole(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    try:
        dtype, shape, (begin, end) = BY_NAME[_FROM_FILE[entry["dtype"]]], entry["shape"], entry["data_offsets"]
        sound = all(map(whole, [*shape, begin, end]))
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path}: the entry of {name!r} is malformed: {entry!r}"[:300]) from None
    count = 1
    for n in shape if sound else ():
        count *= n
    if not sound or not begin <= end <= room or count * dtype.itemsize != end - begin:
        raise ValueError(f"{path}: {name!r} of shape {shape} and dtype {dtype} cannot lie at bytes {begin} to {end} "
                         f"of {room}")
    try:
        return _core.from_buffer(data[begin:end], dtype, shape)
    except (_core.LimitError, OverflowError) as error:
        raise ValueError(f"{path}: {name!r} of shape {shape}: {error}"[:300]) from None
