# SPDX-License-Identifier: Apache-2.0
"""What NumPy says of the workloads, in float64."""
import numpy as np

import gpt


def as_float64(array):
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def layer_norm(x, w, b):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * w + b


def windows(x, size, padding):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))


def convolve(x, w, padding=0):
    """Convolution of stride 1 by one matrix product."""
    seen = windows(x, w.shape[2], padding)  # [batch, channels, height, width, size, size]
    return np.tensordot(seen, w, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


def conv_bn_relu(x, w, mean, var, gamma, beta):
    scale = (gamma / np.sqrt(var + 1e-5)).reshape(-1, 1, 1)
    return np.maximum((convolve(x, w, 1) - mean.reshape(-1, 1, 1)) * scale + beta.reshape(-1, 1, 1), 0)


def cross_entropy(z, y):
    """The mean loss of rows of logits, and its gradient."""
    q, rows = gpt.softmax(z), np.arange(len(y))
    gradient = q / len(y)
    gradient[rows, y] -= 1 / len(y)
    return float(-np.log(q[rows, y]).mean()), gradient


def mlp(p, x, y):
    """The loss, and the gradients of the parameters p by name."""
    w1, b1, w2, b2, w3, b3 = p.values()
    a1 = np.maximum(x @ w1.T + b1, 0)
    a2 = np.maximum(a1 @ w2.T + b2, 0)
    loss, d = cross_entropy(a2 @ w3.T + b3, y)
    d2 = (d @ w3) * (a2 > 0)
    d1 = (d2 @ w2) * (a1 > 0)
    return loss, dict(zip(p, (d1.T @ x, d1.sum(0), d2.T @ a1, d2.sum(0), d.T @ a2, d.sum(0))))


def cnn(p, x, y):
    w1, b1, w2, b2, w3, b3, w4, b4 = p.values()
    a1 = np.maximum(convolve(x, w1) + b1.reshape(-1, 1, 1), 0)
    a2 = np.maximum(convolve(a1, w2) + b2.reshape(-1, 1, 1), 0)
    tiles = a2.reshape(*a2.shape[:2], 12, 2, 12, 2).transpose(0, 1, 2, 4, 3, 5).reshape(*a2.shape[:2], 12, 12, 4)
    best = tiles.argmax(-1)[..., None]
    flat = np.take_along_axis(tiles, best, -1).reshape(len(y), -1)
    a3 = np.maximum(flat @ w3.T + b3, 0)
    loss, d = cross_entropy(a3 @ w4.T + b4, y)
    d3 = (d @ w4) * (a3 > 0)
    d2 = np.zeros_like(tiles)
    np.put_along_axis(d2, best, (d3 @ w3).reshape(best.shape), -1)
    d2 = d2.reshape(*a2.shape[:2], 12, 12, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(a2.shape) * (a2 > 0)
    d1 = convolve(d2, w2[:, :, ::-1, ::-1].transpose(1, 0, 2, 3), 2) * (a1 > 0)
    g2 = np.tensordot(d2, windows(a1, 3, 0), ((0, 2, 3), (0, 2, 3)))
    g1 = np.tensordot(d1, windows(x, 3, 0), ((0, 2, 3), (0, 2, 3)))
    return loss, dict(zip(p, (g1, d1.sum((0, 2, 3)), g2, d2.sum((0, 2, 3)), d3.T @ flat, d3.sum(0), d.T @ a3,
                              d.sum(0))))


def gpt2(p, ids):
    judge = gpt.Judge(p, gpt.SIZES["h"], gpt.SIZES["layers"])
    logits, back = judge.logits(ids[:, :-1])
    loss, gradient = cross_entropy(logits.reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1))
    back(gradient.reshape(logits.shape))
    return loss, judge.gradients


def gru_cell(x, state, weight_ih, weight_hh, bias_ih, bias_hh):
    def sigmoid(z):
        return 1 / (1 + np.exp(-z))
    (ri, zi, ni), (rh, zh, nh) = (np.split(a @ w.T + b, 3, -1)
                                  for a, w, b in ((x, weight_ih, bias_ih), (state, weight_hh, bias_hh)))
    update = sigmoid(zi + zh)
    return (1 - update) * np.tanh(ni + sigmoid(ri + rh) * nh) + update * state


def scatter_add(shape, ids, added):
    out = np.zeros(shape)
    np.add.at(out, ids, added)
    return out


def seen(tensor):
    """What a tensor holds."""
    tensor = tensor.detach()
    return as_float64((tensor.float() if tensor.is_floating_point() else tensor).numpy())


def parameters(model):
    return {name: seen(parameter) for name, parameter in model.named_parameters()}


def state(model):
    """Parameters and buffers."""
    return {name: seen(tensor) for name, tensor in model.state_dict().items()}


class Adam:
    """AdamW (Adam where decay is 0) on a dict of arrays."""

    def __init__(self, rate, decay=0.0):
        self.rate, self.decay, self.steps, self.m, self.v = rate, decay, 0, {}, {}

    def step(self, p, gradients):
        self.steps += 1
        for name, g in gradients.items():
            m = self.m[name] = 0.9 * self.m.get(name, 0) + 0.1 * g
            v = self.v[name] = 0.999 * self.v.get(name, 0) + 0.001 * g * g
            step = m / (np.sqrt(v / (1 - 0.999 ** self.steps)) + 1e-8) / (1 - 0.9 ** self.steps)
            p[name] = p[name] * (1 - self.rate * self.decay) - self.rate * step


class Momentum:
    """SGD with momentum on a dict of arrays."""

    def __init__(self, rate, momentum):
        self.rate, self.momentum, self.kept = rate, momentum, {}

    def step(self, p, gradients):
        for name, g in gradients.items():
            self.kept[name] = self.momentum * self.kept.get(name, 0) + g
            p[name] = p[name] - self.rate * self.kept[name]


def losses(p, loss_and_gradients, inputs, steps, update):
    """The losses of so many steps from the parameters p."""
    inputs, found = [as_float64(a) for a in inputs], []
    while True:
        loss, gradients = loss_and_gradients(p, *inputs)
        found.append(loss)
        if len(found) == steps:
            return found
        update.step(p, gradients)
