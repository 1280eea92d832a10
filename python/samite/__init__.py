"""Kernels written in C++ for the CPU and for CUDA, with their own gradients, called from Python.

A module of kernels is compiled from C++ (samite/python/module.h) and imported like any other:

    import my_kernels
    my_kernels.diffuse(next, now, rate=0.2, extents=(512, 512))

or loaded by load("my_kernels.cpp"), which compiles it when it is first needed.
Kernels take arrays of NumPy, torch, JAX, CuPy, and any object with DLPack or an array interface, without copying them.
Tape records calls and runs their adjoints, Graph captures calls and replays them.
Ready operations are matmul, grouped_mm, scaled_mm, scaled_grouped_mm, quantise, softmax, layer_norm, rms_norm,
group_norm, cross_entropy, rotary and attention.
samite.torch and samite.jax turn kernels into differentiable functions.
samite.aot opens archives of kernels that were compiled ahead of time.
"""

import sys

if "t" in getattr(sys, "abiflags", ""):
    raise ImportError("samite needs Python's global lock: use a Python that is not free-threaded")

from ._samite import (  # noqa: E402
    DeviceError,
    Error,
    Graph,
    InternalError,
    Kernel,
    Launch,
    Parameter,
    Pipeline,
    Report,
    UserError,
    capture_if,
    capture_while,
    debug_mode,
    devices,
    set_debug_mode,
    synchronize,
)
from ._samite import version as __version__  # noqa: E402
from ._description import OfKernel, documentation, signature  # noqa: E402
from ._load import load  # noqa: E402
from ._tape import Tape  # noqa: E402
from ._ready_layers import cross_entropy, group_norm, rms_norm, rotary  # noqa: E402
from .ready import (  # noqa: E402
    attention,
    dequantise,
    grouped_mm,
    layer_norm,
    matmul,
    quantise,
    scaled_grouped_mm,
    scaled_mm,
    softmax,
)

__all__ = [
    "DeviceError",
    "Error",
    "Graph",
    "InternalError",
    "Kernel",
    "Launch",
    "Parameter",
    "Pipeline",
    "Report",
    "Tape",
    "UserError",
    "attention",
    "capture_if",
    "capture_while",
    "cmake_dir",
    "cross_entropy",
    "debug_mode",
    "dequantise",
    "devices",
    "group_norm",
    "grouped_mm",
    "layer_norm",
    "load",
    "matmul",
    "quantise",
    "rms_norm",
    "rotary",
    "scaled_grouped_mm",
    "scaled_mm",
    "set_debug_mode",
    "softmax",
    "synchronize",
]

for _kind in (Kernel, Pipeline):
    setattr(_kind, "__doc__", OfKernel(documentation, _kind.__doc__))
    setattr(_kind, "__signature__", OfKernel(signature, None))


def cmake_dir() -> str:
    """The folder in an installed package for find_package(samite): pass it as -Dsamite_DIR=..."""
    import os

    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "cmake")
