# SPDX-License-Identifier: Apache-2.0
"""A GPT-2-shaped decoder, in burn and, as its judge, in NumPy with gradients worked out by hand."""
import os

import numpy as np

import burn
import burn.nn as nn
import burn.nn.functional as F
import data

SIZES = data.GPT2
if os.environ.get("BURND_DEVICE") == "cuda":
    SIZES = {"vocab": 50304, "d": 768, "h": 12, "layers": 12, "ctx": 1024}


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.ln1, self.ln2 = h, nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x, cache=None, pos=0):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.h, d // self.h).transpose(1, 2) for z in self.qkv(self.ln1(x)).chunk(3, -1))
        if cache is not None:
            cache[0][:, :, pos:pos + t], cache[1][:, :, pos:pos + t] = k, v
            k, v = cache[0][:, :, :pos + t], cache[1][:, :, :pos + t]
        a = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, vocab, d, h, layers, ctx):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.blocks = nn.ModuleList(Block(d, h) for _ in range(layers))
        self.ln = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocab, bias=False)

    def forward(self, ids, caches=None, pos=0):
        x = self.tok(ids) + self.pos(burn.arange(pos, pos + ids.shape[1], device=ids.device))
        for i, b in enumerate(self.blocks):
            x = b(x, caches[i] if caches else None, pos)
        return self.head(self.ln(x))


def softmax(x):
    power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def gelu(x):
    """gelu by tanh, and its derivative."""
    c = np.sqrt(2 / np.pi)
    t = np.tanh(c * (x + 0.044715 * x ** 3))
    return 0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x)


def attention(q, k, v):
    """Causal attention of the last queries by its definition; the weights too."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    length, seen = scores.shape[-2:]
    scores[..., ~np.tri(length, seen, seen - length, dtype=bool)] = -np.inf
    weights = softmax(scores)
    return weights @ v, weights


class Judge:
    """GPT over a dict of float64 arrays. Each layer gives its result and a function that takes the gradient of
    that to the gradient of its input; the parameters' gradients gather in self.gradients."""

    def __init__(self, parameters, h, layers):
        self.p, self.h, self.layers, self.gradients = parameters, h, layers, {}

    def linear(self, x, name):
        weight, bias = self.p[name + ".weight"], self.p.get(name + ".bias")

        def back(g):
            rows = g.reshape(-1, g.shape[-1])
            self.gradients[name + ".weight"] = rows.T @ x.reshape(-1, x.shape[-1])
            if bias is not None:
                self.gradients[name + ".bias"] = rows.sum(0)
            return g @ weight
        return x @ weight.T + (0 if bias is None else bias), back

    def norm(self, x, name):
        weight, bias = self.p[name + ".weight"], self.p[name + ".bias"]
        centred = x - x.mean(-1, keepdims=True)
        scale = 1 / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5)
        y = centred * scale

        def back(g):
            self.gradients[name + ".weight"] = (g * y).sum((0, 1))
            self.gradients[name + ".bias"] = g.sum((0, 1))
            g = g * weight
            return scale * (g - g.mean(-1, keepdims=True) - y * (g * y).mean(-1, keepdims=True))
        return y * weight + bias, back

    def heads(self, qkv, past):
        """Attention of all heads; past: keys and values that went before, or None."""
        b, t, width = qkv.shape
        d = width // 3 // self.h
        q, k, v = qkv.reshape(b, t, 3, self.h, d).transpose(2, 0, 3, 1, 4)
        if past is not None:
            k, v = (np.concatenate((old, new), 2) for old, new in zip(past, (k, v)))
        y, weights = attention(q, k, v)

        def back(g):
            g = g.reshape(b, t, self.h, d).transpose(0, 2, 1, 3)
            gw = g @ v.swapaxes(-1, -2)
            gs = weights * (gw - (gw * weights).sum(-1, keepdims=True)) / np.sqrt(d)
            parts = np.stack((gs @ k, gs.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ g))
            return parts.transpose(1, 3, 0, 2, 4).reshape(b, t, width)
        return y.transpose(0, 2, 1, 3).reshape(b, t, width // 3), back

    def block(self, x, name, past):
        normed, norm1 = self.norm(x, name + "ln1")
        qkv, qkv_back = self.linear(normed, name + "qkv")
        attended, heads_back = self.heads(qkv, past)
        projected, proj_back = self.linear(attended, name + "proj")
        x = x + projected
        normed, norm2 = self.norm(x, name + "ln2")
        raised, up_back = self.linear(normed, name + "up")
        active, slope = gelu(raised)
        lowered, down_back = self.linear(active, name + "down")

        def back(g):
            g = g + norm2(up_back(down_back(g) * slope))
            return g + norm1(qkv_back(heads_back(proj_back(g))))
        return x + lowered, back

    def logits(self, ids, pasts=None, pos=0):
        x, backs = self.p["tok.weight"][ids] + self.p["pos.weight"][pos:pos + ids.shape[1]], []
        for i in range(self.layers):
            x, back = self.block(x, f"blocks.{i}.", pasts[i] if pasts else None)
            backs.append(back)
        normed, norm = self.norm(x, "ln")
        logits, head = self.linear(normed, "head")

        def back(g):
            g = norm(head(g))
            for block_back in reversed(backs):
                g = block_back(g)
            for name, at, rows in (("tok.weight", ids, g), ("pos.weight", slice(ids.shape[1]), g.sum(0))):
                self.gradients[name] = np.zeros_like(self.p[name])
                np.add.at(self.gradients[name], at, rows)
        return logits, back
