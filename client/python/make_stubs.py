#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the type stubs of what burn attaches while it is imported: burn/__init__.pyi and burn/_tensor.pyi.

    make_stubs.py [--check]    burn must be importable (build/release/python); --check only says whether they are fresh

Functions come from the package with their signatures; everything else stands in the text below. The C extension's
stub, burn/_core.pyi, is written by hand, that of the ops by proto/gen_ops.py."""
import inspect
import pathlib
import re
import sys

sys.path.pop(0)  # this folder holds the sources of burn, without the extension
import burn  # noqa: E402
from burn._functions import FUNCTIONS  # noqa: E402
from burn._legacy import TYPED  # noqa: E402

HOME = pathlib.Path(__file__).resolve().parent / "burn"
# results of what has no annotations because it is a lambda; all others of these are tensors
RESULTS = {"is_floating_point": "_bool", "is_complex": "_bool", "is_signed": "_bool", "is_contiguous": "_bool",
           "equal": "_bool", "is_tensor": "_bool", "type": "Any", "numel": "_int", "result_type": "_dtype",
           "broadcast_shapes": "Size", "is_same_size": "_bool", "where": "Any", "promote_types": "_dtype"}
HEAD = "# SPDX-License-Identifier: Apache-2.0\n# Made by client/python/make_stubs.py.\n"

TENSOR_HEAD = HEAD + '''from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Self, TypeVar, overload

from . import _core
from ._core import assign as assign
from ._dtype import dtype as _dtype, device as Device
from ._layouts import layout as layout, strided as strided
from ._text import set_printoptions as set_printoptions, tensor_text as tensor_text

_bool = bool
_int = int
_float = float
_type = type[Any]
F = TypeVar("F", bound=Callable[..., Any])

'''

TENSOR_TAIL = '''

class _GradMode:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: Any) -> None: ...
    def __call__(self, function: F) -> F: ...

@overload
def no_grad() -> _GradMode: ...
@overload
def no_grad(orig_func: F) -> F: ...
@overload
def inference_mode(mode: _bool = True) -> _GradMode: ...
@overload
def inference_mode(mode: F) -> F: ...
@overload
def enable_grad() -> _GradMode: ...
@overload
def enable_grad(orig_func: F) -> F: ...

class set_grad_enabled:
    def __init__(self, mode: _bool) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *_: Any) -> None: ...
    def __call__(self, function: F) -> F: ...

def is_grad_enabled() -> _bool: ...
def is_inference_mode_enabled() -> _bool: ...
'''


def text_of(annotation):
    """An annotation as the stub writes it. burn.int and the like are dtypes, so builtins go by other names."""
    if annotation is inspect.Parameter.empty:
        return "Any"
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    text = text.strip("'\"")
    if re.fullmatch(r"tuple|list|dict", text):
        text += {"tuple": "[Any, ...]", "list": "[Any]", "dict": "[Any, Any]"}[text]
    text = re.sub(r"\b(tuple|list)\b(?!\[)", lambda m: m[1] + ("[Any, ...]" if m[1] == "tuple" else "[Any]"), text)
    text = re.sub(r"\bOperand\b|\bNumber\b", "Any", text)
    text = re.sub(r"\bDtype\b", "Any", text)
    text = re.sub(r"\bbool_?\b", "_bool", text)
    text = re.sub(r"\bint\b", "_int", text)
    text = re.sub(r"\bfloat\b", "_float", text)
    return re.sub(r"\btype\b", "_type", text)


def default_of(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    return "..."


def parameters_of(function, drop_first):
    """The parameters as text; those that only carry a value into the function are left out."""
    given = list(inspect.signature(function).parameters.values())
    parts, star = (["self"] if drop_first else []), False
    for parameter in given[1:] if drop_first else given:
        if parameter.name.startswith("_") and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        text = f"{parameter.name}: {text_of(parameter.annotation)}"
        if parameter.default is not parameter.empty:
            text += f" = {default_of(parameter.default)}"
        if parameter.kind is parameter.VAR_POSITIONAL:
            text, star = "*" + text, True
        elif parameter.kind is parameter.VAR_KEYWORD:
            text = "**" + text
        elif parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        parts.append(text)
    return parts


def origin(function):
    """For an in-place form: the function that it is the form of."""
    hidden = inspect.signature(function).parameters.get("_function")
    return hidden.default if hidden is not None else None


def line(name, function, method):
    shown = origin(function) or function
    annotation = inspect.signature(shown).return_annotation
    result = RESULTS.get(name, "Tensor") if annotation is inspect.Parameter.empty else text_of(annotation)
    if origin(function):
        result = "Tensor"
    parts = parameters_of(shown, method)
    if origin(function) and not method:
        parts[0] = "input: Tensor"
    head = f"def {name}("
    text = f"{head}{', '.join(parts)}) -> {result}: ..."
    return text


def tensor_stub():
    out = [TENSOR_HEAD + "class Tensor(_core.Tensor):"]
    for name, value in burn.Tensor.__dict__.items():
        if isinstance(value, property):
            result = text_of(inspect.signature(value.fget).return_annotation)
            out += ["    @property", f"    def {name}(self) -> {result}: ..."]
        elif inspect.isfunction(value):
            out.append("    " + line(name, value, True))
    return "\n".join(out) + TENSOR_TAIL


def package_stub():
    source = (HOME / "__init__.py").read_text()
    out = [HEAD + "import builtins as _builtins", "from collections.abc import Callable, Iterable, Sequence",
           "from typing import Any, Literal", "", "from . import _core"]
    for module, names in re.findall(r"^from (\.[\w.]*) import (\([^)]*\)|[^\n#]+)", source, re.M):
        names = [name.strip() for name in re.sub(r"#[^\n]*|\n", " ", names).strip("( )").split(",")]
        names = [name for name in names if name and " as _" not in name and not name.startswith("_")]
        if names and module != "._functions":
            out.append(f"from {module} import (" + ", ".join(f"{name} as {name}" for name in names) + ")")
    out += ["",
            "_bool = _builtins.bool", "_int = _builtins.int", "_float = _builtins.float",
            "_dtype = dtype", "_type = type[Any]",
            "bool = bool_", "float = float32", "int = int32",
            "inf: _float", "nan: _float", "pi: _float", "e: _float", "newaxis: None",
            "Error = _core.Error", "DtypeError = _core.DtypeError", "InvalidError = _core.InvalidError",
            "RangeError = _core.RangeError",
            "OutOfMemoryError = _core.OutOfMemoryError", "AcceleratorError = _core.DeviceError", "__version__: str", ""]
    out += [f"class {name}(Tensor): ..." for name in TYPED]
    for name, function in FUNCTIONS.items():
        if getattr(burn, name) is function:
            out.append(line(name, function, False))
    return "\n".join(out) + "\n"


def main():
    made = {"_tensor.pyi": tensor_stub(), "__init__.pyi": package_stub()}
    stale = [name for name, text in made.items() if not (HOME / name).exists() or (HOME / name).read_text() != text]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"client/python/burn/{name} is stale: run client/python/make_stubs.py")
        sys.exit(bool(stale))
    for name in stale:
        (HOME / name).write_text(made[name])


main()
