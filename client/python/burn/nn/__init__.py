# SPDX-License-Identifier: Apache-2.0
"""Neural network modules, functions and initial values."""
from . import functional, init, utils
from .modules import (
    BCEWithLogitsLoss, CrossEntropyLoss, Dropout, ELU, Embedding, Flatten, GELU, Hardtanh, HuberLoss,
    Identity, L1Loss, LayerNorm, LeakyReLU, Linear, LogSigmoid, LogSoftmax, Module, ModuleDict, ModuleList,
    MSELoss, NLLLoss, ParameterDict, ParameterList, ReLU, RMSNorm, Sequential, Sigmoid, SiLU, Softmax,
    Softplus, Tanh,
)
from .parameter import Parameter

__all__ = [
    "Parameter", "functional", "init", "utils", "BCEWithLogitsLoss", "CrossEntropyLoss", "Dropout", "ELU",
    "Embedding", "Flatten", "GELU", "Hardtanh", "HuberLoss", "Identity", "L1Loss", "LayerNorm", "LeakyReLU",
    "Linear", "LogSigmoid", "LogSoftmax", "Module", "ModuleDict", "ModuleList", "MSELoss", "NLLLoss",
    "ParameterDict", "ParameterList", "ReLU", "RMSNorm", "Sequential", "Sigmoid", "SiLU", "Softmax", "Softplus",
    "Tanh",
]

from .modules.batchnorm import (  # noqa: E402
    BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, LocalResponseNorm,
)
from .modules.conv import (  # noqa: E402
    Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Fold, Unfold,
)
from .modules.pooling import (  # noqa: E402
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d,
    AvgPool1d, AvgPool2d, AvgPool3d, LPPool1d, LPPool2d, MaxPool1d, MaxPool2d, MaxPool3d,
)

__all__ += [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conv1d",
    "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Fold", "GroupNorm",
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LPPool1d", "LPPool2d", "LocalResponseNorm", "MaxPool1d",
    "MaxPool2d", "MaxPool3d", "Unfold",
]
