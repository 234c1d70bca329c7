# SPDX-License-Identifier: Apache-2.0
"""Which version this is; None for what it is not made with."""

__version__ = "0.1.0"
debug = False
cuda = git_version = hip = rocm = xpu = None
