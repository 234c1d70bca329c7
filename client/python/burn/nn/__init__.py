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
