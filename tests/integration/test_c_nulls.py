# SPDX-License-Identifier: Apache-2.0
"""Every function of burn.h and burn_ops.h, as the headers declare it, with NULL for each pointer in turn: INVALID with a
text that names the argument, and never a crash. What may be NULL is listed here."""
import ctypes
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BURND", ROOT / "build/release/bin/burnd")).resolve().parents[1]
HEADERS = ROOT / "client/c/burn"
INVALID = 1
#: Functions for which NULL is nothing to do.
FREES = {"burn_close", "burn_free", "burn_dealloc", "burn_release", "burn_free_named", "burn_free_reached", "burn_optimizer_destroy", "burn_program_destroy"}
#: Arguments that may be NULL.
OPTIONAL = {("burn_open", "options"), ("burn_ping", "out_seconds"), ("burn_sgd", "options"), ("burn_adam", "options"),
            ("burn_create_token", "scopes"), ("burn_create_token", "origins"), ("burn_mint_token", "name"), ("burn_mint_token", "scopes"),
            ("burn_mint_token", "origins"), ("burn_list_names", "prefix"), ("burn_set_grad", "grad"), ("burn_program_end", "name"), ("burn_set_user", "user"),
            ("burn_export", "parts"), *((f"burn_{name}", "seeds") for name in ("backward", "gradients", "backward_cut", "gradients_cut"))}
#: They would end what the others need.
UNCALLED = {"burn_shutdown"}


class Input(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("tensor", ctypes.c_void_p)]


class LastError(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("retryable", ctypes.c_int), ("op", ctypes.c_uint64), ("text", ctypes.c_char_p)]


def functions():
    """Name, type of the result and (type, name) of the arguments."""
    for header in ("burn.h", "burn_ops.h"):
        text = re.sub(r"/\*.*?\*/", "", (HEADERS / header).read_text(), flags=re.S)
        for result, name, arguments in re.findall(r"^BURN_API ([\w ]+?[ *]+)(burn_\w+)\(((?:[^()]|\([^()]*\))*)\);", text, re.M):
            pairs = []
            for argument in re.split(r",(?![^()]*\))", " ".join(arguments.split())):
                callback = re.fullmatch(r"void \(\*(\w+)\)\(void \*object\)", argument.strip())
                if callback:
                    pairs.append(("callback", callback[1]))
                elif argument.strip() != "void":
                    match = re.fullmatch(r"(.*?[ *])(\w+)(\[\d+\])?", argument.strip())
                    assert match, (name, argument)
                    pairs.append((match[1].strip() + ("*" if match[3] else ""), match[2]))
            yield name, result.strip(), pairs


NUMBERS = {"int": ctypes.c_int, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "double": ctypes.c_double,
           "burn_status": ctypes.c_int}
RESULTS = {**NUMBERS, "void": None, "const char *": ctypes.c_char_p}


class Caller:
    def __init__(self):
        self.library = ctypes.CDLL(str(BUILD / "lib/libburn-client.so.1"))
        self.library.burn_last_error.restype = ctypes.POINTER(LastError)
        context, tensor, program, optimizer = (ctypes.c_void_p() for _ in range(4))
        done, args = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None), (ctypes.c_void_p * 1)
        assert self.library.burn_open(None, ctypes.byref(context)) == 0
        dims = (ctypes.c_int64 * 1)(1)
        assert self.library.burn_upload(context, 2, 1, dims, ctypes.byref(ctypes.c_float(1)), ctypes.byref(tensor)) == 0
        inside = ctypes.c_void_p()
        assert self.library.burn_program_begin(context, args(tensor.value), ctypes.c_size_t(1), ctypes.byref(inside)) == 0
        assert self.library.burn_program_end(context, args(inside.value), ctypes.c_size_t(1), b"same", ctypes.byref(program)) == 0
        assert self.library.burn_sgd(context, args(tensor.value), ctypes.c_size_t(1), None, ctypes.byref(optimizer)) == 0
        self.values = {"burn_context *": context, "burn_tensor *": tensor, "burn_program *": program, "burn_optimizer *": optimizer,
                       "callback": done, "burn_tensor *const *": args(tensor.value), "const char *": b"stats", "const char *const *": (ctypes.c_char_p * 1)(b"stats"),
                       "const int64_t *": dims, "burn_input": Input(1, tensor.value), "const burn_input *": (Input * 1)(Input(1, tensor.value)),
                       "void *": (ctypes.c_char * 4096)()}

    def value(self, kind, name):
        plain = kind.removeprefix("const ")
        if kind in NUMBERS:
            return NUMBERS[kind](4 if name == "size_bytes" else 2 if name == "dtype" else 10 if name == "op" else 1)
        if kind in self.values or plain in self.values:
            return self.values.get(kind, self.values.get(plain))
        if kind.endswith("options *"):
            return None
        return (ctypes.c_char * 4096)()  # room for whatever comes out

    def call(self, name, result, values):
        function = getattr(self.library, name)
        function.restype = RESULTS.get(result, ctypes.c_void_p)
        before = self.library.burn_last_error().contents.text
        self.library.burn_find_op(None)  # the last error is another one now
        status = function(*values)
        error = self.library.burn_last_error().contents
        return status, error.status, (error.text or before or b"").decode()


def check():
    """Calls all; the name of what is being called is the last line that is printed."""
    caller, count, wrong = Caller(), 0, []
    for name, result, arguments in functions():
        if name in UNCALLED:
            continue
        for at, (kind, argument) in enumerate(arguments):
            nulls = [None] if kind == "callback" or kind.endswith("*") else [Input(1, None), Input(0, None), Input(9, None)] if kind == "burn_input" else []
            if kind == "burn_tensor *const *":
                nulls.append((ctypes.c_void_p * 1)(None))
            for null in nulls:
                if (name, argument) in OPTIONAL and null is None:
                    continue
                print(name, argument, flush=True)
                values = [caller.value(*pair) for pair in arguments]
                values[at] = ctypes.cast(None, ctypes.CFUNCTYPE(None)) if kind == "callback" else null
                status, code, text = caller.call(name, result, values)
                count += 1
                if name in FREES:
                    continue
                if isinstance(null, Input) and null.kind == 0 and status in (0, INVALID):
                    continue  # an optional input, or what the op says
                if (name, argument) in OPTIONAL:
                    continue
                shown = "out" if argument == "out_tensors" and name == "burn_apply" else argument.rstrip("_")  # as in burn_ops.h
                nothing = INVALID if result == "burn_status" else b"" if name in ("burn_url", "burn_welcome") else None
                if code != INVALID or shown not in text or (status or None) != (nothing or None) or not (isinstance(null, Input) or "NULL" in text):
                    wrong.append((name, argument, getattr(null, "kind", null), status, text))
    assert not wrong, "\n".join(map(str, wrong))
    print(count, "calls")


def test_every_pointer_of_every_function():
    names = [name for name, *_ in functions()]
    declared = sum((HEADERS / header).read_text().count("BURN_API ") for header in ("burn.h", "burn_ops.h"))
    assert len(names) == len(set(names)) == declared - 2 * ("#define BURN_API " in (HEADERS / "burn.h").read_text()) + 1, (len(names), declared)
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "BURN_URL": "private:", "BURND": str(BUILD / "bin/burnd")})
    assert done.returncode == 0, (done.stdout[-300:], done.stderr[-3000:])
    assert int(done.stdout.split()[-2]) > 700, done.stdout[-300:]


if __name__ == "__main__":
    check()
