# SPDX-License-Identifier: Apache-2.0
"""The chi-squared distribution."""
from __future__ import annotations

from typing import Any

from .._tensor import Tensor
from . import constraints
from .gamma import Gamma
from .utils import floats


class Chi2(Gamma):
    """Sums of the squares of df standard normal numbers."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (df,) = floats(df)
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def _expanded(self, source: Any) -> None:
        self.concentration = self.concentration.expand(self._batch_shape)
        self.rate = self.rate.expand(self._batch_shape)

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return self.concentration * 2
