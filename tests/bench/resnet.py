# SPDX-License-Identifier: Apache-2.0
"""ResNet-18 in burn and, as its judge, in NumPy with gradients worked out by hand."""
import numpy as np

import burn
import burn.nn as nn
import burn.nn.functional as F
import data


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride > 1:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        kept = x if self.downsample is None else self.downsample(x)
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + kept)


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        blocks = [Block(inputs, outputs, stride) for _, inputs, outputs, stride in data.resnet_blocks()]
        for layer in range(4):
            setattr(self, f"layer{layer + 1}", nn.Sequential(*blocks[2 * layer:2 * layer + 2]))
        self.fc = nn.Linear(512, data.RESNET["classes"])
        wanted = {name: burn.tensor(array) for name, array in data.resnet_parameters().items()}
        self.load_state_dict({**self.state_dict(), **wanted})

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def windows(x, size, stride, padding, fill=0.0, dilation=1):
    """A view [batch, channels, height, width, size, size] of all windows."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)), constant_values=fill)
    reach = (size - 1) * dilation + 1
    seen = np.lib.stride_tricks.sliding_window_view(x, (reach, reach), (2, 3))
    return seen[:, :, ::stride, ::stride, ::dilation, ::dilation]


def gather_windows(g, shape, stride, padding):
    """The transpose of `windows`: sums what windows hold into an array of this shape."""
    size, (height, width) = g.shape[-1], g.shape[2:4]
    out = np.zeros((*shape[:2], shape[2] + 2 * padding, shape[3] + 2 * padding))
    for i in range(size):
        for j in range(size):
            out[:, :, i:i + stride * height:stride, j:j + stride * width:stride] += g[..., i, j]
    return out[:, :, padding:padding + shape[2], padding:padding + shape[3]]


def convolve(x, w, stride, padding):
    """Convolution, and a function from the gradient of its result to those of x and w."""
    seen = windows(x, w.shape[2], stride, padding)

    def back(g):
        spread = np.tensordot(g, w, (1, 0)).transpose(0, 3, 1, 2, 4, 5)
        return gather_windows(spread, x.shape, stride, padding), np.tensordot(g, seen, ((0, 2, 3), (0, 2, 3)))
    return np.tensordot(seen, w, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2), back


def max_pool(x, size, stride, padding):
    seen = windows(x, size, stride, padding, -np.inf)
    flat = seen.reshape(*seen.shape[:4], size * size)
    best = flat.argmax(-1)[..., None]

    def back(g):
        spread = np.zeros(flat.shape)
        np.put_along_axis(spread, best, g[..., None], -1)
        return gather_windows(spread.reshape(seen.shape), x.shape, stride, padding)
    return np.take_along_axis(flat, best, -1)[..., 0], back


class Judge:
    """ResNet-18 over a dict of float64 arrays. Each layer gives its result and a function that takes the gradient
    of that to the gradient of its input; the parameters' gradients gather in self.gradients."""

    def __init__(self, parameters, training):
        self.p, self.training, self.gradients = parameters, training, {}

    def conv(self, x, name, stride, padding):
        y, back_both = convolve(x, self.p[name + ".weight"], stride, padding)

        def back(g):
            gx, self.gradients[name + ".weight"] = back_both(g)
            return gx
        return y, back

    def norm(self, x, name):
        weight, bias = (self.p[f"{name}.{part}"].reshape(-1, 1, 1) for part in ("weight", "bias"))
        if self.training:
            mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
        else:
            mean, var = (self.p[f"{name}.running_{part}"].reshape(-1, 1, 1) for part in ("mean", "var"))
        scale = 1 / np.sqrt(var + 1e-5)
        y = (x - mean) * scale

        def back(g):
            self.gradients[name + ".weight"] = (g * y).sum((0, 2, 3))
            self.gradients[name + ".bias"] = g.sum((0, 2, 3))
            g = g * weight
            return scale * (g - g.mean((0, 2, 3), keepdims=True) - y * (g * y).mean((0, 2, 3), keepdims=True))
        return y * weight + bias, back

    def conv_norm(self, x, conv, norm, stride, padding):
        convolved, conv_back = self.conv(x, conv, stride, padding)
        y, norm_back = self.norm(convolved, norm)
        return y, lambda g: conv_back(norm_back(g))

    def block(self, x, name, stride):
        first, first_back = self.conv_norm(x, name + "conv1", name + "bn1", stride, 1)
        second, second_back = self.conv_norm(np.maximum(first, 0), name + "conv2", name + "bn2", 1, 1)
        kept, kept_back = x, lambda g: g
        if stride > 1:
            kept, kept_back = self.conv_norm(x, name + "downsample.0", name + "downsample.1", stride, 0)
        y = second + kept

        def back(g):
            g = g * (y > 0)
            return first_back(second_back(g) * (first > 0)) + kept_back(g)
        return np.maximum(y, 0), back

    def logits(self, x):
        stem, stem_back = self.conv_norm(x, "conv1", "bn1", 2, 3)
        y, pool_back = max_pool(np.maximum(stem, 0), 3, 2, 1)
        backs = []
        for name, _, _, stride in data.resnet_blocks():
            y, back = self.block(y, name, stride)
            backs.append(back)
        shape, pooled = y.shape, y.mean((2, 3))

        def back(g):
            self.gradients["fc.weight"], self.gradients["fc.bias"] = g.T @ pooled, g.sum(0)
            g = np.broadcast_to((g @ self.p["fc.weight"])[..., None, None] / (shape[2] * shape[3]), shape)
            for block_back in reversed(backs):
                g = block_back(g)
            stem_back(pool_back(g) * (stem > 0))
        return pooled @ self.p["fc.weight"].T + self.p["fc.bias"], back
