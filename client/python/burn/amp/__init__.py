# SPDX-License-Identifier: Apache-2.0
"""Mixed precision; names and results are torch.amp's on a CPU."""
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
