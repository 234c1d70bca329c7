# SPDX-License-Identifier: Apache-2.0
"""checkpoint: PyTorch's names. What is kept for backward and what is computed anew is the daemon's choice, for all
ops alike: it keeps what is dear (products, reductions) and recomputes chains of cheap ops. So these only call."""
from __future__ import annotations

from typing import Any, Callable

from .._core import InvalidError


def checkpoint(function: Callable, *args: Any, use_reentrant: bool | None = None, context_fn: Callable | None = None,
               determinism_check: str = "default", debug: bool = False, early_stop: bool = True,
               preserve_rng_state: bool = True, **kwargs: Any) -> Any:
    """function(*args, **kwargs)."""
    if use_reentrant and kwargs:
        raise InvalidError("Unexpected keyword arguments: " + ",".join(kwargs))
    return function(*args, **kwargs)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None,
                          **kwargs: Any) -> Any:
    """The functions (or the modules of a Sequential) one after the other."""
    for function in functions.children() if hasattr(functions, "children") else functions:
        input = function(input)
    return input
