# SPDX-License-Identifier: Apache-2.0
"""burn: tensors that live in a burnd daemon, with PyTorch's names and results.

With no daemon running, a private one is started at the first use and ends with the process."""
import math as _math

from . import _core
from ._dtype import (ALL as _dtypes, Size, bfloat16, bool_, device, double, dtype, finfo, float16, float32, float64,  # noqa: F401
                     get_default_dtype, half, iinfo, int8, int16, int32, int64, long, set_default_dtype, short, uint8,
                     uint16, uint32, uint64)
from ._tensor import (Tensor, enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled,  # noqa: F401
                      set_printoptions)
from ._creation import (Generator, arange, as_tensor, asarray, bernoulli, empty, empty_like, eye, from_dlpack,  # noqa: F401
                        from_numpy, full, full_like, get_rng_state, initial_seed, linspace, logspace, manual_seed, normal,
                        ones, ones_like, rand, rand_like, randint, randn, randn_like, randperm, seed, set_rng_state,
                        tensor, zeros, zeros_like)
from . import _indexing
from ._functions import FUNCTIONS as _functions
from ._keywords import accept_keywords as _accept_keywords
from ._legacy import TYPED as _TYPED, set_default_tensor_type, typename  # noqa: F401
from ._serialize import load, save  # noqa: F401
from ._connection import (bytes_sent, connect, connected, disconnect, get_default_device, ping,  # noqa: F401
                          set_default_device, stats, sync, url)
from ._jit import jit  # noqa: F401
from ._layouts import (channels_last, channels_last_3d, contiguous_format, layout, memory_format,  # noqa: F401
                       preserve_format, strided)
from ._settings import (are_deterministic_algorithms_enabled, compile, get_float32_matmul_precision,  # noqa: F401
                        get_num_threads, set_float32_matmul_precision, set_num_threads, use_deterministic_algorithms)

_accept_keywords(globals())
globals().update({name: function for name, function in _functions.items()})
globals().update(_TYPED)
bool = bool_
float = float32
int = int32
inf, nan, pi, e, newaxis = _math.inf, _math.nan, _math.pi, _math.e, None

_core.set_hook("getitem", _indexing.getitem)
_core.set_hook("setitem", _indexing.setitem)

Error = _core.Error
DtypeError, InvalidError, RangeError = _core.DtypeError, _core.InvalidError, _core.RangeError
__version__ = "0.1.0"

from . import accelerator, amp, autograd, backends, cuda, distributions, func, nn, optim, random  # noqa: E402,F401
from . import testing, utils  # noqa: E402,F401
from .func import vmap  # noqa: E402,F401
from .amp import GradScaler, autocast  # noqa: E402,F401
from .amp.autocast_mode import get_autocast_dtype, is_autocast_enabled  # noqa: E402,F401
from .nn.functional import (  # noqa: E402,F401
    adaptive_avg_pool1d, adaptive_max_pool1d, alpha_dropout, avg_pool1d, batch_norm, bilinear,
    binary_cross_entropy_with_logits, celu, celu_, channel_shuffle, conv1d, conv2d, conv3d, conv_transpose1d,
    conv_transpose2d, conv_transpose3d, cosine_embedding_loss, cosine_similarity, ctc_loss, dropout, embedding,
    embedding_bag, feature_alpha_dropout, group_norm, hardshrink, hinge_embedding_loss, instance_norm, kl_div, layer_norm,
    margin_ranking_loss, max_pool1d, max_pool2d, max_pool3d, pairwise_distance, pdist, pixel_shuffle, pixel_unshuffle,
    poisson_nll_loss, prelu, rms_norm, rrelu, rrelu_, selu, selu_, threshold, threshold_, triplet_margin_loss,
)
