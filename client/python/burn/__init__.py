# SPDX-License-Identifier: Apache-2.0
"""burn: tensors that live in a burnd daemon, with PyTorch's names and results.

With no daemon running, a private one is started at the first use and ends with the process."""
import math as _math

from . import _core
from ._dtype import (ALL as _dtypes, Size, bfloat16, bool_, device, double, dtype, finfo, float16, float32, float64,  # noqa: F401
                     get_default_dtype, half, iinfo, int8, int16, int32, int64, long, set_default_dtype, short, uint8,
                     uint16, uint32, uint64)
from ._tensor import (Tensor, enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad,  # noqa: F401
                      set_grad_enabled, set_printoptions)
from ._creation import (Generator, arange, as_tensor, asarray, bernoulli, empty, empty_host, empty_like, eye, from_dlpack,  # noqa: F401
                        default_generator, from_numpy, full, full_like, get_rng_state, initial_seed, linspace, logspace,
                        manual_seed, normal, ones, ones_like, rand, rand_like, randint, randn, randn_like, read_into, seed, set_rng_state,
                        tensor, zeros, zeros_like)
from . import _indexing
from ._functions import FUNCTIONS as _functions
from ._keywords import accept_keywords as _accept_keywords
from ._legacy import TYPED as _TYPED, set_default_tensor_type, typename  # noqa: F401
from ._serialize import load, save  # noqa: F401
from ._connection import (bytes_sent, cancel, close_session, connect, connected, disconnect, draining,  # noqa: F401
                          get_default_device, mint_token, ping, set_default_device, stats, sync, url)
from ._jit import jit  # noqa: F401
from ._layouts import (channels_last, channels_last_3d, contiguous_format, layout, memory_format,  # noqa: F401
                       preserve_format, strided)
from ._settings import (are_deterministic_algorithms_enabled, compile, get_deterministic_debug_mode,  # noqa: F401
                        get_float32_matmul_precision, get_num_interop_threads, get_num_threads,
                        is_deterministic_algorithms_warn_only_enabled, is_warn_always_enabled,
                        set_deterministic_debug_mode, set_float32_matmul_precision, set_flush_denormal,
                        set_num_interop_threads, set_num_threads, set_warn_always, use_deterministic_algorithms)

_accept_keywords(globals())
globals().update({name: function for name, function in _functions.items()})
globals().update(_TYPED)
bool = bool_
float = float32
int = int32
inf, nan, pi, e, newaxis = _math.inf, _math.nan, _math.pi, _math.e, None

_core.set_hook("getitem", _indexing.getitem)
_core.set_hook("setitem", _indexing.setitem)

from ._core import (  # noqa: E402,F401
    ArgumentError, CancelledError, ConflictError, ConnectionError, DeadlineError, DeniedError, DeviceError, DeviceLostError, DtypeError,
    Error, InternalError, InvalidError, LimitError, NotFoundError, OutOfMemoryError, ProtocolError, RangeError, UnauthenticatedError,
    UnsupportedError,
)
AcceleratorError = DeviceError
__version__ = "0.1.0"

from . import accelerator, amp, autograd, backends, compiler, cuda, distributed, distributions, func, nn, optim  # noqa: E402,F401
from . import names, profiler, random, special, testing, utils, version  # noqa: E402,F401
from .func import vmap  # noqa: E402,F401
from .amp import GradScaler, autocast  # noqa: E402,F401
from .amp.autocast_mode import (  # noqa: E402,F401
    clear_autocast_cache, get_autocast_cpu_dtype, get_autocast_dtype, get_autocast_gpu_dtype, is_autocast_cpu_enabled,
    is_autocast_enabled,
)
from .nn.functional import (  # noqa: E402,F401
    avg_pool1d, adaptive_avg_pool1d, bilinear, celu, celu_, channel_shuffle, conv1d, conv2d, conv3d, conv_transpose1d,
    conv_transpose2d, conv_transpose3d, cosine_similarity, embedding_bag, hardshrink, max_pool1d, max_pool2d, max_pool3d,
    pairwise_distance, pdist, pixel_shuffle, pixel_unshuffle, prelu, rms_norm, rrelu, rrelu_, selu, selu_, threshold,
    threshold_,
)
from .nn._toplevel import (  # noqa: E402,F401
    adaptive_max_pool1d, affine_grid_generator, alpha_dropout, alpha_dropout_, batch_norm, binary_cross_entropy_with_logits, constant_pad_nd,
    cosine_embedding_loss, ctc_loss, dropout, dropout_, embedding, feature_alpha_dropout, feature_alpha_dropout_,
    feature_dropout, feature_dropout_, grid_sampler, grid_sampler_2d, group_norm, gru_cell, hinge_embedding_loss,
    instance_norm, kl_div, layer_norm, lstm_cell, margin_ranking_loss, max_pool1d_with_indices, poisson_nll_loss,
    rnn_relu_cell, rnn_tanh_cell, triplet_margin_loss,
)

jit.ScriptModule = nn.Module
