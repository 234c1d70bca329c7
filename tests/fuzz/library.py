# SPDX-License-Identifier: Apache-2.0
"""What PyTorch and burn name differently, as one: H of the programs."""


class OfTorch:
    def __init__(self, torch):
        self.torch = torch

    def lstm_cell(self, x, h, c, w_ih, w_hh, bias):
        return self.torch.lstm_cell(x, (h, c), w_ih, w_hh, bias, None)

    def gru_cell(self, x, h, w_ih, w_hh, bias):
        return self.torch.gru_cell(x, h, w_ih, w_hh, bias, None)

    def conv1d_weight(self, x, y, shape, stride, padding, dilation, groups):
        return self.torch.nn.grad.conv1d_weight(x, shape, y, stride, padding, dilation, groups)


class OfBurn:
    def __init__(self, burn):
        from burn.nn import _recurrent
        self.ops, self.recurrent = burn._ops, _recurrent

    def lstm_cell(self, x, h, c, w_ih, w_hh, bias):
        return self.recurrent.lstm_step(x, h, c, w_ih, w_hh, bias, None)

    def gru_cell(self, x, h, w_ih, w_hh, bias):
        return self.recurrent.gru_step(x, h, w_ih, w_hh, bias, None)

    def conv1d_weight(self, x, y, shape, stride, padding, dilation, groups):
        return self.ops.conv_weight(x, y, (shape[2],), (stride,), (padding,), (dilation,), groups)


def names(library):
    return (OfTorch if library.__name__ == "torch" else OfBurn)(library)
