"""Launches a kernel and its adjoint from Python by ctypes alone: y = 3 x², and dy/dx = 6 x.

    python3 use_kernels.py build/libfrom_c_kernels_c.so
"""

import ctypes
import sys


class Tensor(ctypes.Structure):  # DLPack's DLTensor
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def vector(values):
    memory = (ctypes.c_float * len(values))(*values)
    shape = (ctypes.c_int64 * 1)(len(values))
    tensor = Tensor(ctypes.addressof(memory), 1, 0, 1, 2, 32, 1, shape)
    tensor.memory = memory  # keeps it alive
    return tensor


def launch(function, extents, *arguments):
    error = ctypes.create_string_buffer(1024)
    passed = [ctypes.byref(one) if isinstance(one, Tensor) else one for one in arguments]
    if function((ctypes.c_int64 * len(extents))(*extents), *passed, None, error, ctypes.c_size_t(len(error))) != 0:
        raise RuntimeError(error.value.decode())


kernels = ctypes.CDLL(sys.argv[1])
x, y = vector([1, 2, 3, 4, 5]), vector([0] * 5)
x_gradient, y_gradient = vector([0] * 5), vector([1] * 5)
factor = ctypes.c_float(3)
launch(kernels.scale, [5], y, x, factor)
launch(kernels.scale_adjoint, [5], y, y_gradient, x, x_gradient, factor)
for i in range(5):
    print(f"x {x.memory[i]:g}: y {y.memory[i]:g}, dy/dx {x_gradient.memory[i]:g}")
