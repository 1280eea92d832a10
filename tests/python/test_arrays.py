"""Arrays of every kind go in and out without copies."""

import ctypes

import ml_dtypes
import numpy as np
import pytest
import samite_test_kernels as kernels

TYPES = {
    "bool": np.bool_,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}


def copy_of(source, to=None):
    """What the copying kernel of its type makes of an array."""
    to = np.zeros(source.shape, source.dtype) if to is None else to
    getattr(kernels, f"copy_{source.dtype.name}")(to, source)
    return to


@pytest.mark.parametrize("name", TYPES)
def test_numpy_of_every_type(name):
    source = np.arange(-6, 6).reshape(3, 4).astype(TYPES[name])
    assert np.array_equal(copy_of(source), source)


@pytest.mark.parametrize("name", TYPES)
def test_jax_of_every_type(name):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    values = np.arange(-6, 6).reshape(3, 4).astype(TYPES[name])
    to = np.zeros(values.shape, values.dtype)
    getattr(kernels, f"copy_{name}")(to, jax.numpy.asarray(values))
    assert np.array_equal(to, values)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: a[::-1, ::-1],
        lambda a: a[::2, 1::3],
        lambda a: a[:, :0],
        lambda a: np.broadcast_to(a[:1], (5, a.shape[1])),
        lambda a: np.asfortranarray(a),
    ],
)
def test_strides_of_any_kind(view):
    source = view(np.arange(42.0).reshape(6, 7))
    assert np.array_equal(copy_of(source), source)


def test_writes_through_strides():
    whole = np.zeros((6, 8))
    copy_of(np.arange(12.0).reshape(3, 4), whole[::-2, ::2])
    expected = np.zeros((6, 8))
    expected[::-2, ::2] = np.arange(12.0).reshape(3, 4)
    assert np.array_equal(whole, expected)


def test_arrays_that_share_memory():
    values = np.arange(10.0)
    kernels.axpy(values[:5], values[5:], 2.0)
    assert np.array_equal(values, [10, 13, 16, 19, 22, 5, 6, 7, 8, 9])


class WithInterface:
    """An array that only has the array interface."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__

    @property
    def __array_interface__(self):
        return self._interface

    @__array_interface__.setter
    def __array_interface__(self, interface):
        self._interface = interface


class WithDLPack:
    """An array that only has DLPack, from before there were versions or after."""

    def __init__(self, array, versioned):
        self.array, self.versioned = array, versioned

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **named):
        if "max_version" in named and not self.versioned:
            raise TypeError("max_version")
        return self.array.__dlpack__(**named)


@pytest.mark.parametrize(
    "wrap", [WithInterface, lambda a: WithDLPack(a, True), lambda a: WithDLPack(a, False), memoryview]
)
def test_protocols(wrap):
    source, to = np.arange(12.0).reshape(3, 4), np.zeros((3, 4))
    kernels.copy_float64(wrap(to), wrap(source))
    assert np.array_equal(to, source)


def test_buffers_of_ctypes():
    values = (ctypes.c_double * 3)(1, 2, 3)
    kernels.axpy(values, np.ones(3), 1.0)
    assert list(values) == [2, 3, 4]


def test_structs_are_arrays_with_one_more_dimension_and_tuples():
    positions = np.zeros((2, 3), np.float32)
    kernels.move(positions, (1, 2.5, 3), extents=2)
    assert np.array_equal(positions, [[1, 2.5, 3], [1, 2.5, 3]])


def test_scalars_of_numpy_and_python():
    values = np.zeros(3, np.int32)
    kernels.count_up(values, np.int32(10), np.uint8(2), True)
    assert list(values) == [10, 8, 6]
    kernels.count_up(values, first=-1, step=1 << 40, reversed=False)
    assert list(values) == [-1, -1, -1]
    y = np.zeros(1)
    kernels.axpy(y, np.ones(1), np.float32(0.5))
    kernels.axpy(y, np.ones(1), 2)
    assert y[0] == 2.5
