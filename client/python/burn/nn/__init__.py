# SPDX-License-Identifier: Apache-2.0
"""Neural network modules, functions and initial values."""
from . import functional, init, utils
from .modules import *  # noqa: F401,F403
from .modules import __all__ as _modules
from .parameter import Parameter

__all__ = ["Parameter", "functional", "init", "utils", *_modules]
