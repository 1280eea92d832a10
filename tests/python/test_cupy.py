"""Arrays of CuPy."""

import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

import numpy as np  # noqa: E402
import samite  # noqa: E402
import samite_test_kernels as kernels  # noqa: E402

TYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
]  # fmt: skip


pytestmark = pytest.mark.usefixtures("cuda_only")


def normal(*shape, dtype="float64"):
    return cupy.asarray(np.random.default_rng(0).standard_normal(shape)).astype(dtype)


@pytest.mark.parametrize("name", TYPES)
def test_arrays_of_every_type(name):
    source = cupy.arange(-6, 6).reshape(3, 4).astype(name)
    to = cupy.zeros_like(source)
    getattr(kernels, f"copy_{name}")(to, source)
    assert (to == source).all()


def test_strides_of_any_kind():
    source = cupy.arange(42.0).reshape(6, 7)
    for view in (source.T, source[::-1, ::-1], source[::2, 1::3], source[:, :0], cupy.broadcast_to(source[:1], (5, 7))):
        to = cupy.zeros(view.shape)
        kernels.copy_float64(to, view)
        assert (to == view).all()
    whole = cupy.zeros((12, 21))
    kernels.copy_float64(whole[::-2, ::3], source)
    assert (whole[::-2, ::3] == source).all() and whole.sum() == source.sum()


class WithInterface:
    """An array that only has CUDA's array interface."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


def test_cudas_array_interface():
    source, to = cupy.arange(12.0).reshape(3, 4), cupy.zeros((3, 4))
    kernels.copy_float64(WithInterface(to), WithInterface(source))
    assert (to == source).all()
    kernels.copy_float64(WithInterface(to), WithInterface(source.T.reshape(4, 3).T))
    assert (to == source.T.reshape(4, 3).T).all()


def test_the_current_stream_is_used():
    x, y = cupy.ones(1 << 20), cupy.zeros(1 << 20)
    kernels.axpy(y, x, 1.0)
    code = "long long from = clock64(); while (clock64() - from < cycles);"
    spin = cupy.RawKernel('extern "C" __global__ void spin(long long cycles) {' + code + "}", "spin")
    cupy.cuda.Device().synchronize()  # CuPy orders its streams no more than CUDA does
    with cupy.cuda.Stream(non_blocking=True) as stream:
        # Whatever is compiled first, which may take longer than the kernel that spins.
        spin((1,), (1,), (np.int64(0),))
        x *= 1
        kernels.axpy(y, x, 0.0)
        y.sum()
        cupy.cuda.Device().synchronize()
        spin((1,), (1,), (np.int64(200_000_000),))
        x *= 3
        kernels.axpy(y, x, 1.0)
        total = y.sum()
        assert not stream.done
        assert total == 4 << 20
    kernels.axpy(y, x, 1.0, stream=stream)
    stream.synchronize()
    assert (y == 7).all()


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-12), ("float32", 1e-4), ("float16", 2e-2)])
def test_ready_operations(dtype, tolerance):
    def close(actual, expected):
        assert isinstance(actual, cupy.ndarray) and actual.dtype == dtype
        cupy.testing.assert_allclose(actual.astype("float64"), expected, rtol=tolerance, atol=tolerance)

    a, b = normal(70, 33, dtype=dtype), normal(33, 50, dtype=dtype) / 8
    wide, wide_b = a.astype("float64"), b.astype("float64")
    close(samite.matmul(a, b), wide @ wide_b)
    layer = samite.matmul(a, cupy.asfortranarray(b), bias=b[0], activation="relu")
    close(layer, cupy.maximum(wide @ wide_b + wide_b[0], 0))
    out = cupy.zeros((70, 50), dtype)
    assert samite.matmul(a, b, out=out) is out
    close(out, wide @ wide_b)
    powers = cupy.exp(wide - wide.max(-1, keepdims=True))
    close(samite.softmax(a), powers / powers.sum(-1, keepdims=True))
    normed = (wide - wide.mean(-1, keepdims=True)) / cupy.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    close(samite.layer_norm(a), normed)
    close(samite.layer_norm(a, a[0]), normed * wide[0])
    q = a[:64, :32].reshape(1, 2, 32, 32)
    w = q.astype("float64")
    weights = cupy.exp(w @ w.swapaxes(2, 3) / 32**0.5)
    close(samite.attention(q, q, q), weights @ w / weights.sum(-1, keepdims=True))


def test_groups():
    a, b, offsets = normal(40, 9), normal(3, 9, 7), cupy.asarray([0, 5, 5, 40], dtype="int32")
    expected = cupy.concatenate([a[:5] @ b[0], a[5:] @ b[2]])
    cupy.testing.assert_allclose(samite.grouped_mm(a, b, offsets), expected, rtol=1e-12)


def test_beside_arrays_of_others():
    x = cupy.arange(12.0).reshape(3, 4)
    with pytest.raises(samite.UserError, match="'from' is on cpu, but 'to' is on cuda:0"):
        kernels.copy_float64(x, np.zeros((3, 4)))
    with pytest.raises(samite.UserError, match="is on another device than a: copy one of them"):
        samite.matmul(x, np.zeros((4, 5)))
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        to = torch.zeros(3, 4, dtype=torch.float64, device="cuda")
        torch.cuda.synchronize()
        kernels.copy_float64(to, x)
        assert to.tolist() == x.tolist()
