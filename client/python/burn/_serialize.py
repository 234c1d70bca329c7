# SPDX-License-Identifier: Apache-2.0
"""save and load: tensors as safetensors (8-byte length, JSON header, raw little-endian bytes), the rest as JSON.

Source: the safetensors format description. Loading never executes code from the file."""
from __future__ import annotations

import json
import mmap
import os
from typing import Any, Mapping

from . import _core, _tree
from ._core import InvalidError
from ._dtype import BY_NAME, device
from ._tensor import Tensor

_TO_FILE = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
            "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8",
            "bool": "BOOL"}
_FROM_FILE = {file: name for name, file in _TO_FILE.items()}
_HEADER_MAX = 100 << 20
_TREE = "burn.tree"  # the key among the metadata


def _is_flat(value: Any) -> bool:
    """Whether it is a plain safetensors file's: a dict of plain tensors by text."""
    return isinstance(value, Mapping) and all(
        isinstance(k, str) and k != "__metadata__" and type(v) is Tensor and not v.requires_grad
        for k, v in value.items())


def _layout(obj: Any, metadata: Mapping[str, str] | None) -> tuple[dict, dict[str, Tensor]]:
    """The header and the tensors by name."""
    notes, tensors = dict(metadata or {}), {}
    if _is_flat(obj):
        tensors = dict(obj)
    else:
        names: dict[int, str] = {}
        alive = []

        def keep(tensor: Tensor) -> str:
            if id(tensor) not in names:
                names[id(tensor)] = name = str(len(names))
                tensors[name] = tensor.detach()
                alive.append(tensor)
            return names[id(tensor)]
        notes[_TREE] = json.dumps(_tree.write(obj, keep), separators=(",", ":"))
    header: dict[str, Any] = {"__metadata__": notes} if notes else {}
    at = 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": _TO_FILE[tensor.dtype.name], "shape": list(tensor.shape),
                        "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    return header, tensors


def _write(file: Any, header: dict, tensors: dict[str, Tensor]) -> None:
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for tensor in tensors.values():
        file.write(tensor.detach().tobytes())


def save(obj: Any, f: Any, metadata: Mapping[str, str] | None = None, **_: Any) -> None:
    """Writes nested dicts, lists and tuples of tensors, numbers, texts and the like, such as state_dicts, to a path or
    an open binary file. A path's file appears whole or not at all. Tensors lie in it as in a safetensors file, the rest
    as JSON in its header; a dict of plain tensors is a plain safetensors file. TypeError names what cannot be saved."""
    header, tensors = _layout(obj, metadata)
    if hasattr(f, "write"):
        _write(f, header, tensors)
        return
    part = f"{os.fspath(f)}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            _write(file, header, tensors)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, f)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


def _contents(f: Any) -> tuple[str, memoryview]:
    if hasattr(f, "read"):
        return getattr(f, "name", "the file"), memoryview(f.read())
    if os.stat(f).st_size == 0:
        return str(f), memoryview(b"")
    with open(f, "rb") as file:
        return str(f), memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _header(path: str, data: memoryview) -> tuple[dict, memoryview]:
    """The header and the bytes behind it."""
    size = len(data)
    if size < 8:
        raise InvalidError(f"{path}: {size} bytes are too few for a safetensors file")
    if bytes(data[:4]) == b"PK\x03\x04" or bytes(data[:2]) == b"\x80\x02":
        raise InvalidError(f"{path}: this is a pickle of PyTorch's, which may hold code; write it as safetensors there")
    length = int.from_bytes(data[:8], "little")
    if length > min(size - 8, _HEADER_MAX):
        raise InvalidError(f"{path}: the header claims {length} bytes, the file has {size - 8} after the length")
    try:
        header = json.loads(bytes(data[8:8 + length]))
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidError(f"{path}: the header is no JSON: {error}") from None
    if not isinstance(header, dict):
        raise InvalidError(f"{path}: the header is no JSON object")
    return header, data[8 + length:]


def load(f: Any, map_location: Any = None, *, weights_only: bool = True, mmap: Any = None, **_: Any) -> Any:
    """What save() wrote, or the dict of tensors of any safetensors file, from a path or an open binary file. It never
    runs code of the file, whatever weights_only says. ValueError says what is wrong with a bad file."""
    from ._creation import check_device
    check_device(map_location if isinstance(map_location, (str, device)) else None)
    path, data = _contents(f)
    header, data = _header(path, data)
    found = {name: _read(path, name, entry, data, len(data)) for name, entry in header.items()
             if name != "__metadata__"}
    notes = header.get("__metadata__")
    if not isinstance(notes, dict) or not isinstance(notes.get(_TREE), str):
        return found
    made: dict[str, Any] = {}

    def tensor_of(name: str, is_parameter: bool = False, requires_grad: bool = False) -> Tensor:
        from .nn.parameter import Parameter
        if not isinstance(name, str) or name not in found:
            raise InvalidError(f"there is no tensor {name!r}")
        if name not in made:  # what was one tensor at several places is one again
            tensor = found[name]
            made[name] = Parameter(tensor, requires_grad) if is_parameter else tensor.requires_grad_(requires_grad)
        return made[name]
    try:
        return _tree.read(json.loads(notes[_TREE]), tensor_of)
    except (ValueError, RecursionError) as error:
        raise InvalidError(f"{path}: {error}") from None


def _read(path: Any, name: str, entry: Any, data: memoryview, room: int) -> Tensor:
    def whole(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    try:
        dtype, shape, (begin, end) = BY_NAME[_FROM_FILE[entry["dtype"]]], entry["shape"], entry["data_offsets"]
        sound = all(map(whole, [*shape, begin, end]))
    except (KeyError, TypeError, ValueError):
        raise InvalidError(f"{path}: the entry of {name!r} is malformed: {entry!r}"[:300]) from None
    count = 1
    for n in shape if sound else ():
        count *= n
    if not sound or not begin <= end <= room or count * dtype.itemsize != end - begin:
        raise InvalidError(f"{path}: {name!r} of shape {shape} and dtype {dtype} cannot lie at bytes {begin} to {end} "
                           f"of {room}")
    try:
        return _core.from_buffer(data[begin:end], dtype, shape)
    except (_core.LimitError, OverflowError) as error:
        raise InvalidError(f"{path}: {name!r} of shape {shape}: {error}"[:300]) from None
