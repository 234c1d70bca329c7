# SPDX-License-Identifier: Apache-2.0
"""The modules of burn.nn."""
from .activation import (ELU, GELU, Dropout, Flatten, Hardtanh, LeakyReLU, LogSigmoid, LogSoftmax, ReLU, Sigmoid, SiLU,
                         Softmax, Softplus, Tanh)
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .linear import Identity, Linear
from .loss import BCEWithLogitsLoss, CrossEntropyLoss, HuberLoss, L1Loss, MSELoss, NLLLoss
from .module import Module
from .normalization import LayerNorm, RMSNorm
from .sparse import Embedding

__all__ = [
    "BCEWithLogitsLoss", "CrossEntropyLoss", "Dropout", "ELU", "Embedding", "Flatten", "GELU", "Hardtanh",
    "HuberLoss", "Identity", "L1Loss", "LayerNorm", "LeakyReLU", "Linear", "LogSigmoid", "LogSoftmax", "Module",
    "ModuleDict", "ModuleList", "MSELoss", "NLLLoss", "ParameterDict", "ParameterList", "ReLU", "RMSNorm",
    "Sequential", "Sigmoid", "SiLU", "Softmax", "Softplus", "Tanh",
]
