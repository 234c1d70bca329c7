# SPDX-License-Identifier: Apache-2.0
"""Attention: scaled_dot_product_attention and the function behind MultiheadAttention."""
from __future__ import annotations

from typing import Any

from .._core import ArgumentError, InvalidError
from .. import _ops
from .._creation import draw, zeros
from .._dtype import bool_
from .._functions import FUNCTIONS
from .._tensor import Tensor

__all__ = [
    "multi_head_attention_forward", "scaled_dot_product_attention",
]

_cat = FUNCTIONS["cat"]


def _dropped(weights: Tensor, p: float) -> Tensor:
    if not 0 <= p <= 1:
        raise InvalidError(f"dropout probability has to be between 0 and 1, but got {p}")
    return _ops.dropout(weights, p, *draw(weights.numel(), None)) if p else weights


def _grouped(query: Tensor, key: Tensor) -> Tensor:
    """key with each head repeated for the query heads that share it."""
    heads, own = query.shape[-3], key.shape[-3]
    if own == 0 or heads % own:
        raise InvalidError(f"scaled_dot_product_attention: {heads} query heads cannot share {own} key and value heads")
    shape, times = tuple(key.shape), heads // own
    spread = key.unsqueeze(-3).expand(shape[:-2] + (times,) + shape[-2:])
    return spread.reshape(shape[:-3] + (shape[-3] * times,) + shape[-2:])


def _check_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool) -> None:
    for name, x in (("query", query), ("key", key), ("value", value)):
        if not isinstance(x, Tensor):
            raise ArgumentError(f"scaled_dot_product_attention(): argument {name!r} must be Tensor, not {type(x).__name__}")
        if x.dim() < 2:
            raise InvalidError(f"scaled_dot_product_attention: {name} has shape {list(x.shape)}, "
                               "at least 2 dimensions are needed")
    if not query.dtype is key.dtype is value.dtype:
        raise InvalidError("Expected query, key, and value to have the same dtype, but got query.dtype: "
                           f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead.")
    if query.shape[-1] != key.shape[-1]:
        raise InvalidError(f"scaled_dot_product_attention: query and key have widths {query.shape[-1]} and "
                           f"{key.shape[-1]}, which must be equal")
    if key.shape[-2] != value.shape[-2]:
        raise InvalidError(f"scaled_dot_product_attention: key and value have lengths {key.shape[-2]} and "
                           f"{value.shape[-2]}, which must be equal")
    if is_causal and attn_mask is not None:
        raise InvalidError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if attn_mask is not None and attn_mask.dtype is not bool_ and not attn_mask.dtype.is_floating_point:
        raise InvalidError(f"Expected attn_mask dtype to be bool or float, but got attn_mask.dtype: {attn_mask.dtype}")


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value.

    Shapes: query [..., L, E], key [..., S, E], value [..., S, V] -> [..., L, V]. A bool mask is true where a key may
    be attended to, a float mask is added; a row that may attend to nothing gives zeros. is_causal lets position i
    see the keys up to i. scale is 1 / sqrt(E) by default. enable_gqa repeats heads of key and value (dim -3)."""
    _check_attention(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = _grouped(query, key), _grouped(query, value)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = (query * scale) @ key.mT
    if is_causal:
        scores = _ops.causal(scores)
    elif attn_mask is not None and attn_mask.dtype is bool_:
        scores = _ops.where(attn_mask, scores, float("-inf"))
    elif attn_mask is not None:
        scores = scores + attn_mask.to(scores.dtype)
    if not dropout_p and tuple(scores.shape[:-2]) == tuple(value.shape[:-2]):
        return _ops.attend(scores, value)
    if attn_mask is None:
        return _dropped(_ops.softmax(scores, -1), dropout_p) @ value
    closed = _ops.max(scores.detach(), (-1,), True) == float("-inf")  # rows that may attend to nothing give zeros
    weights = _ops.softmax(scores.masked_fill(closed, 0.0), -1).masked_fill(closed, 0.0)
    return _dropped(weights, dropout_p) @ value


# ---- several heads ----

def added_mask(mask: Tensor | None, like: Any, name: str) -> Tensor | None:
    """A float mask to be added, from a bool mask that is true where nothing may be attended to."""
    if mask is None or mask.dtype.is_floating_point:
        return mask
    if mask.dtype is not bool_:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return zeros(tuple(mask.shape), dtype=like).masked_fill(mask, float("-inf"))


def _check_shapes(query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None,
                  num_heads: int) -> bool:
    """Whether the inputs are batched."""
    rank = query.dim()
    if rank not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    for name, x, want in (("key", key, rank), ("value", value, rank), ("key_padding_mask", padding, rank - 1)):
        if x is not None and x.dim() != want:
            raise AssertionError(f"For {'batched (3-D)' if rank == 3 else 'unbatched (2-D)'} `query`, expected {name} "
                                 f"to be {want}-D but found {x.dim()}-D")
    if mask is not None and mask.dim() not in (2, 3):
        raise AssertionError(f"expected attn_mask to be 2-D or 3-D but found {mask.dim()}-D")
    if mask is not None and mask.dim() == 3 and rank == 2 and tuple(mask.shape) != (
            num_heads, query.shape[0], key.shape[0]):
        raise AssertionError(f"Expected `attn_mask` shape to be {(num_heads, query.shape[0], key.shape[0])} "
                             f"but got {tuple(mask.shape)}")
    return rank == 3


def _projected(query: Tensor, key: Tensor, value: Tensor, weights: tuple, bias: Tensor | None,
               width: int) -> tuple[Tensor, Tensor, Tensor]:
    """The three inputs by one packed weight (fewer products where inputs are the same), or by three."""
    packed, parts = weights
    if packed is not None:
        if key is value and query is key:
            return _ops.linear(query, packed, bias).chunk(3, -1)  # type: ignore[return-value]
        parts = packed.chunk(3)
        if key is value:
            b_q, b_kv = (None, None) if bias is None else (bias[:width], bias[width:])
            k, v = _ops.linear(key, packed[width:], b_kv).chunk(2, -1)
            return _ops.linear(query, parts[0], b_q), k, v
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return tuple(_ops.linear(x, w, b) for x, w, b in zip((query, key, value), parts, biases))  # type: ignore[return-value]


def _merged_mask(mask: Tensor | None, padding: Tensor | None, batch: int, heads: int, length: int,
                 keys: int) -> Tensor | None:
    """Both masks as one that is added to scores [batch, heads, length, keys]."""
    if mask is not None:
        if mask.dim() == 2 and tuple(mask.shape) != (length, keys):
            raise InvalidError(f"The shape of the 2D attn_mask is {tuple(mask.shape)}, but should be {(length, keys)}.")
        if mask.dim() == 3 and tuple(mask.shape) != (batch * heads, length, keys):
            raise InvalidError(f"The shape of the 3D attn_mask is {tuple(mask.shape)}, but should be "
                               f"{(batch * heads, length, keys)}.")
        mask = mask.reshape(1, 1, length, keys) if mask.dim() == 2 else mask.reshape(batch, heads, length, keys)
    if padding is None:
        return mask
    if tuple(padding.shape) != (batch, keys):
        raise AssertionError(f"expecting key_padding_mask shape of {(batch, keys)}, but got {tuple(padding.shape)}")
    padding = padding.reshape(batch, 1, 1, keys)
    return padding if mask is None else mask + padding


def _lengthened(mask: Tensor | None, by: int) -> Tensor | None:
    return mask if mask is None or not by else _ops.pad(mask, 0, (0,) * mask.dim(), (0,) * (mask.dim() - 1) + (by,))


def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
                                 in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None,
                                 bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor,
                                 out_proj_bias: Tensor | None, training: bool = True,
                                 key_padding_mask: Tensor | None = None, need_weights: bool = True,
                                 attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False,
                                 q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
                                 v_proj_weight: Tensor | None = None, static_k: Tensor | None = None,
                                 static_v: Tensor | None = None, average_attn_weights: bool = True,
                                 is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """Attention of num_heads heads with projections in and out.

    Shapes: query [L, N, E], key and value [S, N, ...] (or without N) -> output [L, N, E] and, if need_weights, the
    weights [N, L, S] averaged over heads, or [N, heads, L, S]. Masks are true, or -inf, where nothing is attended to."""
    if query.shape[-1] != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {query.shape[-1]}")
    if is_causal and attn_mask is None:
        raise InvalidError("Need attn_mask if specifying the is_causal hint.")
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    padding = added_mask(key_padding_mask, query.dtype, "key_padding_mask")
    mask = added_mask(attn_mask, query.dtype, "attn_mask")
    if use_separate_proj_weight:
        if tuple(key.shape[:-1]) != tuple(value.shape[:-1]):
            raise AssertionError(f"key's sequence and batch dims {tuple(key.shape[:-1])} do not match value's "
                                 f"{tuple(value.shape[:-1])}")
    elif tuple(key.shape) != tuple(value.shape):
        raise AssertionError(f"key shape {tuple(key.shape)} does not match value shape {tuple(value.shape)}")
    width, head = embed_dim_to_check, embed_dim_to_check // num_heads
    if head * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    weights = (None, (q_proj_weight, k_proj_weight, v_proj_weight)) if use_separate_proj_weight else (in_proj_weight, ())
    q, k, v = _projected(query, key, value, weights, in_proj_bias, width)
    if not batched:
        q, k, v = q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1)
        padding = padding if padding is None else padding.unsqueeze(0)
    length, batch = q.shape[0], q.shape[1]
    if bias_k is not None and bias_v is not None:
        k = _cat([k, bias_k.expand(1, batch, width)])
        v = _cat([v, bias_v.expand(1, batch, width)])
        mask, padding = _lengthened(mask, 1), _lengthened(padding, 1)
    q, k, v = (x.reshape(x.shape[0], batch, num_heads, head).permute(1, 2, 0, 3) for x in (q, k, v))
    k = k if static_k is None else static_k.reshape(batch, num_heads, -1, head)
    v = v if static_v is None else static_v.reshape(batch, num_heads, -1, head)
    if add_zero_attn:
        k = _ops.pad(k, 0, (0, 0, 0, 0), (0, 0, 1, 0))
        v = _ops.pad(v, 0, (0, 0, 0, 0), (0, 0, 1, 0))
        mask, padding = _lengthened(mask, 1), _lengthened(padding, 1)
    causal = is_causal and padding is None and not need_weights  # the mask is then known to be the causal one
    mask = None if causal else _merged_mask(mask, padding, batch, num_heads, length, k.shape[2])
    dropout_p = dropout_p if training else 0.0
    shown = None
    if need_weights:
        scores = (q * head ** -0.5) @ k.mT
        shown = _dropped(_ops.softmax(scores if mask is None else scores + mask, -1), dropout_p)
        output = shown @ v
        shown = shown.mean(1) if average_attn_weights else shown
        shown = shown if batched else shown.squeeze(0)
    else:
        output = scaled_dot_product_attention(q, k, v, mask, dropout_p, causal)
    output = _ops.linear(output.permute(2, 0, 1, 3).reshape(length, batch, width), out_proj_weight, out_proj_bias)
    return output if batched else output.squeeze(1), shown
