"""Ready operations on arrays of NumPy and JAX, against NumPy in double."""

import math
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest
import samite

f8, e5m2, bf16 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.bfloat16
random = np.random.default_rng(0)


def normal(*shape, dtype=np.float64):
    return random.standard_normal(shape).astype(dtype)


def close(actual, expected, tolerance):
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    assert np.allclose(np.asarray(actual).astype(np.float64), expected, rtol=tolerance, atol=tolerance)


ACTIVATIONS = {
    None: lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


def softmax_of(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    "dtype, tolerance", [(np.float64, 1e-12), (np.float32, 1e-4), (np.float16, 2e-2), (bf16, 1e-1)]
)
def test_products(dtype, tolerance):
    a, b = normal(70, 33, dtype=dtype), normal(33, 50, dtype=dtype)
    c = samite.matmul(a, b)
    assert c.dtype == dtype
    close(c, a.astype(np.float64) @ b.astype(np.float64), tolerance)


def test_products_of_integers():
    a, b = random.integers(-100, 100, (20, 30), dtype=np.int8), random.integers(-100, 100, (30, 10), dtype=np.int8)
    c = samite.matmul(a, b)
    assert c.dtype == np.int32 and np.array_equal(c, a.astype(np.int32) @ b.astype(np.int32))


def test_results_of_32_bits_for_factors_of_16():
    a, b = normal(20, 30, dtype=np.float16), normal(30, 10, dtype=np.float16)
    c = samite.matmul(a, b, out_dtype=np.float32)
    assert c.dtype == np.float32
    close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-5)


def test_factors_that_lie_transposed_or_with_gaps():
    a, b = normal(33, 70), normal(50, 33)
    close(samite.matmul(a.T, b.T), a.T @ b.T, 1e-12)
    whole = normal(40, 80)
    close(samite.matmul(whole[::2, ::2], whole[:, :7]), whole[::2, ::2] @ whole[:, :7], 1e-12)


def test_products_in_batches():
    a, b = normal(3, 20, 30), normal(3, 30, 10)
    close(samite.matmul(a, b), a @ b, 1e-12)
    close(samite.matmul(a, b.swapaxes(1, 2).copy().swapaxes(1, 2)), a @ b, 1e-12)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_layers(activation):
    a, b, bias, residual = normal(20, 30) * 0.3, normal(30, 40), normal(40), normal(20, 40)
    expected = ACTIVATIONS[activation](a @ b + bias) + residual
    close(samite.matmul(a, b, bias=bias, residual=residual, activation=activation), expected, 1e-12)


def test_layers_in_batches_and_with_parts_alone():
    a, b, bias, residual = normal(2, 20, 30), normal(2, 30, 40), normal(40), normal(2, 20, 40)
    close(samite.matmul(a, b, bias=bias, residual=residual), a @ b + bias + residual, 1e-12)
    close(samite.matmul(a, b, bias=bias), a @ b + bias, 1e-12)
    close(samite.matmul(a, b, residual=residual), a @ b + residual, 1e-12)


def test_one_matrix_for_all_rows_of_more_dimensions():
    a, b, bias, residual = normal(2, 3, 4, 30), normal(30, 40), normal(40), normal(2, 3, 4, 40)
    close(samite.matmul(a, b, bias=bias, residual=residual), a @ b + bias + residual, 1e-12)
    out = np.zeros((2, 3, 4, 40))
    assert samite.matmul(a, b, out=out) is out
    close(out, a @ b, 1e-12)
    close(samite.matmul(a.swapaxes(0, 2), b), a.swapaxes(0, 2) @ b, 1e-12)
    with pytest.raises(samite.UserError, match="expected out with 24 rows of 40"):
        samite.matmul(a, b, out=np.zeros((2, 3, 40)))


def of_groups(a, b, offsets):
    return np.concatenate([a[begin:end] @ each for each, begin, end in zip(b, offsets, offsets[1:])])


def test_products_of_groups_of_rows():
    a, b, bias = normal(40, 9), normal(4, 9, 7), normal(4, 7)
    offsets = np.array([0, 5, 5, 38, 40], np.int32)
    close(samite.grouped_mm(a, b, offsets), of_groups(a, b, offsets), 1e-12)
    transposed = np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)
    expected = np.maximum(of_groups(a, b, offsets) + np.repeat(bias, np.diff(offsets), axis=0), 0)
    close(samite.grouped_mm(a, transposed, offsets, bias=bias, activation="relu"), expected, 1e-12)
    halves = samite.grouped_mm(a.astype(np.float16), b.astype(np.float16), offsets, out_dtype="float32")
    assert halves.dtype == np.float32
    close(halves, of_groups(a, b, offsets), 3e-2)


def test_rows_in_no_group_are_not_written():
    out = np.full((4, 1), 9.0)
    samite.grouped_mm(np.ones((4, 1)), np.full((1, 1, 1), 2.0), np.array([1, 3], np.int32), out=out)
    assert out.ravel().tolist() == [9, 2, 2, 9]


@pytest.mark.parametrize("offsets", [[0, 5, 5, 133, 200], [3, 70], [0, 64, 128], [0, 0]])
@pytest.mark.parametrize(
    "dtype, tolerance", [(np.float64, 1e-12), (np.float32, 1e-4), (np.float16, 2e-2), (bf16, 1e-1)]
)
@pytest.mark.parametrize("a_transposed, b_transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_groups_of_terms(offsets, dtype, tolerance, a_transposed, b_transposed):
    a, b = normal(40, 200, dtype=dtype), normal(200, 70, dtype=dtype)
    a[:, : offsets[0]] = np.nan  # what is in no group, or in another, is not added to a sum
    b[offsets[-1] :] = np.inf
    wide = a.astype(np.float64), b.astype(np.float64)
    expected = [wide[0][:, i:j] @ wide[1][i:j] for i, j in zip(offsets, offsets[1:])]
    left, right = (np.asfortranarray(x) if turned else x for x, turned in ((a, a_transposed), (b, b_transposed)))
    c = samite.grouped_mm(left, right, np.array(offsets, np.int32))
    assert c.dtype == dtype
    close(c, np.stack(expected), tolerance)
    if dtype == np.float16:
        wide_c = samite.grouped_mm(left, right, np.array(offsets, np.int32), out_dtype=np.float32)
        assert wide_c.dtype == np.float32
        close(wide_c, np.stack(expected), 1e-4)


def test_a_product_into_a_given_array():
    a, b, c = normal(20, 30), normal(30, 40), np.zeros((20, 80))
    assert samite.matmul(a, b, out=c[:, ::2]) is not None
    close(c[:, ::2], a @ b, 1e-12)
    assert not c[:, 1::2].any()


def test_products_of_nothing():
    assert samite.matmul(np.zeros((0, 3)), np.zeros((3, 4))).shape == (0, 4)
    assert np.array_equal(samite.matmul(np.zeros((2, 0)), np.zeros((0, 4))), np.zeros((2, 4)))


def test_products_of_jax():
    jnp = pytest.importorskip("jax.numpy")
    a, b = normal(20, 30, dtype=np.float32), normal(30, 40, dtype=np.float32)
    c = samite.matmul(jnp.asarray(a), jnp.asarray(b))
    assert isinstance(c, jnp.ndarray)
    close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-4)


GROUPS = [(None, None), (1, None), (None, 1), (1, 128), (128, 1), (128, 128)]


def spread(array, scale):
    """Scales as large as the array."""
    for axis in (0, 1):
        size = array.shape[axis]
        if scale.shape[axis] not in (1, size):
            scale = np.repeat(scale, 128, axis).take(range(size), axis)
    return np.broadcast_to(scale, array.shape).astype(np.float64)


def meaning(q, scale):
    return q.astype(np.float64) * spread(q, scale)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("dtype, largest, digit", [(f8, 448, 1 / 16), (e5m2, 57344, 1 / 8)])
def test_quantised_matrices(group, dtype, largest, digit):
    x = normal(150, 300, dtype=np.float32) * np.exp2(np.arange(150) % 5)[:, None].astype(np.float32)
    q, scale = samite.quantise(x, dtype=dtype, group=group)
    assert q.dtype == dtype and scale.dtype == np.float32
    assert scale.shape == tuple(1 if g is None else -(-n // g) for n, g in zip(x.shape, group))
    assert np.abs(q.astype(np.float32)).max() == largest
    assert np.all(np.abs(meaning(q, scale) - x) <= np.abs(x) * digit + spread(x, scale) * 2.0**-9)
    close(samite.dequantise(q, scale), meaning(q, scale), 1e-6)


@pytest.mark.parametrize("of_a", [(None, None), (1, None), (1, 128), (128, 128)])
@pytest.mark.parametrize("of_b", [(None, None), (None, 1), (128, 1), (128, 128)])
def test_scaled_products(of_a, of_b):
    a, scale_a = samite.quantise(normal(150, 300, dtype=np.float32), group=of_a)
    b, scale_b = samite.quantise(normal(300, 140, dtype=np.float32), group=of_b)
    expected = meaning(a, scale_a) @ meaning(b, scale_b)
    by_columns = np.asfortranarray(b)  # as torch wants it
    close(samite.scaled_mm(a, by_columns, scale_a, scale_b, out_dtype="float32"), expected, 1e-3)
    assert samite.scaled_mm(a, b, scale_a, scale_b).dtype == bf16


def test_scaled_products_of_two_types_with_bias_and_one_scale():
    a, scale_a = samite.quantise(normal(20, 64, dtype=np.float32), dtype=e5m2)
    b, scale_b = samite.quantise(normal(64, 30, dtype=np.float32))
    bias = normal(30, dtype=np.float32)
    expected = np.maximum(meaning(a, scale_a) @ meaning(b, scale_b) + bias, 0)
    one = np.array(scale_b[0, 0])  # of no dimensions
    c = samite.scaled_mm(a, b, scale_a, one, bias=bias, activation="relu", out_dtype=np.float32)
    close(c, expected, 1e-4)


def quantised_groups(b, group):
    each = [samite.quantise(matrix, group=group) for matrix in b]
    return tuple(np.stack(parts) for parts in zip(*each))


@pytest.mark.parametrize("of_a", [(None, None), (1, None), (1, 128)])
@pytest.mark.parametrize("of_b", [(None, None), (None, 1), (128, 1), (128, 128)])
@pytest.mark.parametrize("by_columns", [False, True])
def test_scaled_products_of_groups_of_rows(of_a, of_b, by_columns):
    offsets = np.array([0, 1, 1, 130, 149], np.int32)
    a, scale_a = samite.quantise(normal(149, 200, dtype=np.float32), group=of_a)
    b, scale_b = quantised_groups(normal(4, 200, 140, dtype=np.float32), of_b)
    expected = of_groups(meaning(a, scale_a), [meaning(*each) for each in zip(b, scale_b)], offsets)
    if by_columns:
        b = np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)
    close(samite.scaled_grouped_mm(a, b, scale_a, scale_b, offsets, out_dtype="float32"), expected, 1e-3)
    assert samite.scaled_grouped_mm(a, b, scale_a, scale_b, offsets).dtype == bf16


def test_scaled_products_of_groups_with_bias_into_a_given_array_and_as_torch_has_scales():
    offsets, out = np.array([1, 4, 18], np.int32), np.full((20, 30), 7, np.float32)
    a, scale_a = samite.quantise(normal(20, 64, dtype=np.float32), dtype=e5m2, group=(1, None))
    b, scale_b = quantised_groups(normal(2, 64, 30, dtype=np.float32), (None, 1))
    bias = normal(2, 30, dtype=np.float32)
    sums = of_groups(meaning(a, scale_a), [meaning(*each) for each in zip(b, scale_b)], offsets)
    expected = np.maximum(sums + np.repeat(bias, np.diff(offsets), axis=0), 0)
    scales = scale_a[:, 0], scale_b[:, 0]
    made = samite.scaled_grouped_mm(a, b, *scales, offsets, bias=bias, activation="relu", out=out, out_dtype=np.float32)
    assert made is out
    close(out[1:18], expected, 1e-4)
    assert (out[[0, 18, 19]] == 7).all()


@pytest.mark.parametrize(
    "dtype, tolerance", [(np.float64, 1e-12), (np.float32, 1e-5), (np.float16, 1e-2), (bf16, 5e-2)]
)
def test_softmax_and_layer_norm(dtype, tolerance):
    x = (normal(2, 3, 100) * 3).astype(dtype)
    wide = x.astype(np.float64)
    weight, bias = normal(100, dtype=dtype), normal(100, dtype=dtype)
    close(samite.softmax(x), softmax_of(wide), tolerance)
    normed = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-3)
    close(samite.layer_norm(x, epsilon=1e-3), normed, tolerance)
    expected = normed * weight.astype(np.float64) + bias.astype(np.float64)
    close(samite.layer_norm(x, weight, bias, epsilon=1e-3), expected, 2 * tolerance)
    close(samite.layer_norm(x, bias=bias, epsilon=1e-3), normed + bias.astype(np.float64), 2 * tolerance)


def test_softmax_of_one_dimension_and_of_a_view():
    x = normal(50)
    close(samite.softmax(x), softmax_of(x), 1e-12)
    whole = normal(4, 6, 8)
    close(samite.softmax(whole[:, ::2, ::-1]), softmax_of(whole[:, ::2, ::-1]), 1e-12)


@pytest.mark.parametrize(
    "dtype, tolerance", [(np.float64, 1e-12), (np.float32, 1e-5), (np.float16, 1e-2), (bf16, 5e-2)]
)
def test_rms_and_group_norm(dtype, tolerance):
    x = (normal(2, 6, 5, 7) * 3).astype(dtype)
    wide = x.astype(np.float64)
    weight, bias, of_row = normal(6, dtype=dtype), normal(6, dtype=dtype), normal(7, dtype=dtype)
    normed = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-3)
    close(samite.rms_norm(x, epsilon=1e-3), normed, tolerance)
    close(samite.rms_norm(x, of_row, epsilon=1e-3), normed * of_row.astype(np.float64), 2 * tolerance)
    grouped = wide.reshape(2, 3, -1)
    normed = (grouped - grouped.mean(-1, keepdims=True)) / np.sqrt(grouped.var(-1, keepdims=True) + 1e-3)
    normed = normed.reshape(x.shape)
    close(samite.group_norm(x, 3, epsilon=1e-3), normed, tolerance)
    expected = normed * weight.astype(np.float64)[:, None, None] + bias.astype(np.float64)[:, None, None]
    close(samite.group_norm(x, 3, weight, bias, epsilon=1e-3), expected, 3 * tolerance)
    out = np.zeros_like(x)
    assert samite.group_norm(x, 3, weight, bias, epsilon=1e-3, out=out) is out
    close(out, expected, 3 * tolerance)


@pytest.mark.parametrize("targets_type", [np.int32, np.int64])
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 1e-5), (bf16, 1e-5)])
def test_cross_entropy(dtype, tolerance, targets_type):
    logits = (normal(2, 5, 40) * 3).astype(dtype)
    wide, targets = logits.astype(np.float64), random.integers(0, 40, (2, 5)).astype(targets_type)
    targets[1, 2] = -100
    logarithms = np.log(softmax_of(wide))
    chosen = np.take_along_axis(logarithms, np.maximum(targets, 0)[..., None], -1)[..., 0]
    losses = np.where(targets == -100, 0, -0.9 * chosen - 0.1 * logarithms.mean(-1))
    close(samite.cross_entropy(logits, targets, reduction="none", smoothing=0.1), losses, tolerance)
    close(samite.cross_entropy(logits, targets, reduction="sum", smoothing=0.1), losses.sum(), 20 * tolerance)
    row_sums = np.zeros(10, np.float64 if dtype == np.float64 else np.float32)
    loss = samite.cross_entropy(logits, targets, row_sums=row_sums)
    close(loss, -chosen[targets != -100].mean(), tolerance)
    close(row_sums, np.log(np.exp(wide).sum(-1)).ravel(), tolerance)
    assert np.isnan(samite.cross_entropy(np.zeros((0, 3)), np.zeros(0, int)))


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 1e-5), (np.float16, 1e-2)])
@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary(interleaved, dtype, tolerance):
    x = normal(2, 9, 3, 10, dtype=dtype).swapaxes(1, 2)
    angles = np.arange(9)[:, None] * 0.1 ** np.arange(5)
    cosines, sines = np.cos(angles), np.sin(angles)
    wide = x.astype(np.float64)
    first, second = (wide[..., 0::2], wide[..., 1::2]) if interleaved else (wide[..., :5], wide[..., 5:])
    turned = first * cosines - second * sines, second * cosines + first * sines
    expected = np.stack(turned, -1).reshape(x.shape) if interleaved else np.concatenate(turned, -1)
    y = samite.rotary(x, cosines, sines, interleaved=interleaved)
    close(y, expected, tolerance)
    samite.rotary(y, cosines, sines, interleaved=interleaved, backwards=True, out=y)
    close(y, wide, 2 * tolerance)


def attention_of(q, k, v, causal, scale):
    products = np.einsum("bhid,bhjd->bhij", q, k) * scale
    if causal:
        products = np.where(np.arange(k.shape[2]) <= np.arange(q.shape[2])[:, None], products, -np.inf)
    return np.einsum("bhij,bhjd->bhid", softmax_of(products), v)


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 1e-5), (bf16, 5e-2)])
def test_attention_with_masks(dtype, tolerance):
    q, k, v = (normal(3, heads, rows, 16, dtype=dtype) for heads, rows in ((4, 20), (2, 33), (2, 33)))
    bias, lengths = normal(3, 4, 20, 33, dtype=dtype), np.array([33, 5, 0], np.int32)
    slopes = np.array([0.5, 0.25, 1, 0], np.float64 if dtype == np.float64 else np.float32)
    distance = np.arange(33) - np.arange(20)[:, None] - (lengths[:, None, None, None] - 20)
    products = np.einsum("bhid,bhjd->bhij", q.astype(np.float64), np.repeat(k.astype(np.float64), 2, 1)) * 0.25
    products += bias.astype(np.float64) - slopes.astype(np.float64)[:, None, None] * abs(distance)
    seen = (np.arange(33) < lengths[:, None, None, None]) & (distance <= 0) & (distance > -8)
    powers = np.where(seen, np.exp(products), 0)
    expected = np.einsum("bhij,bhjd->bhid", powers, np.repeat(v.astype(np.float64), 2, 1))
    expected = expected / np.maximum(powers.sum(-1, keepdims=True), 1e-300)
    masks = {"causal": True, "from_the_end": True, "window": 8, "bias": bias, "slopes": slopes, "lengths": lengths}
    close(samite.attention(q, k, v, **masks), expected, tolerance)
    assert not expected[2].any() and not expected[1, :, :15].any()
    shared = np.broadcast_to(bias[:1, :1], bias.shape)
    close(samite.attention(q, k, v, bias=shared), samite.attention(q, k, v, bias=shared.copy()), 0)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype, size, tolerance", [(np.float64, 16, 1e-12), (np.float32, 64, 1e-5), (bf16, 128, 5e-2)])
def test_attention(causal, dtype, size, tolerance):
    q, k, v = (normal(2, rows, 3, size, dtype=dtype).transpose(0, 2, 1, 3) for rows in (70, 50, 50))
    expected = attention_of(*(each.astype(np.float64) for each in (q, k, v)), causal, size**-0.5)
    close(samite.attention(q, k, v, causal=causal), expected, tolerance)
    expected = attention_of(*(each.astype(np.float64) for each in (q, k, v)), causal, 0.1)
    close(samite.attention(q, k, v, causal=causal, scale=0.1), expected, tolerance)


zeros, f4 = np.zeros, np.float32


def scaled_groups(**changed):
    given = {"a": zeros((3, 400), f8), "b": zeros((2, 400, 5), f8), "offsets": np.zeros(3, np.int32)}
    given |= {"scale_a": zeros((1, 1), f4), "scale_b": zeros((2, 1, 1), f4), "out_dtype": "float32"}
    return samite.scaled_grouped_mm(**(given | changed))


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: samite.matmul(zeros((3, 4)), zeros((5, 4))),
            r"expected b with 4 rows, as many as a has columns: they would fit with b transposed.*a of float64 with "
            r"shape \(3, 4\) and strides \(4, 1\) on the CPU, b of float64 with shape \(5, 4\)",
        ),
        (lambda: samite.matmul(zeros((3, 4)), zeros((4, 5), f4)), "expected factors of one type"),
        (lambda: samite.matmul(zeros(3), zeros(3)), "expected two matrices"),
        (lambda: samite.matmul(zeros((2, 3, 4)), zeros((3, 4, 5))), "as many matrices in b as in a"),
        (lambda: samite.matmul([[1.0]], zeros((1, 1))), "argument 'a' expects an array.*list is given"),
        (lambda: samite.matmul(zeros((3, 4)), zeros((4, 5)), bias=zeros(4)), r"expected bias of float64.*\(5,\)"),
        (lambda: samite.matmul(zeros((3, 4)), zeros((4, 5)), activation="softplus"), "activation expects one of"),
        (lambda: samite.matmul(zeros((3, 4)), zeros((4, 5)), activation=1), "activation expects a name.*1 is given"),
        (lambda: samite.matmul(zeros((3, 4)), zeros((4, 5)), out_dtype="float31"), "no type of elements 'float31'"),
        (lambda: samite.matmul(None, zeros((4, 5))), "argument 'a' expects an array.*None is given"),
        (lambda: samite.layer_norm(zeros((3, 4)), epsilon="small"), "argument 'epsilon' expects a number"),
        (lambda: samite.matmul(zeros((3, 4)), zeros((4, 5)), tf32=True), "tf32"),
        (lambda: samite.matmul(zeros((3, 4)), zeros((4, 5)), tf32=1), "tf32 expects True or False; 1 is given"),
        (
            lambda: samite.matmul(zeros((3, 4)), zeros((4, 5)), out=zeros((3, 4))),
            r"expected out of float64.*\(3, 5\)",
        ),
        (lambda: samite.matmul(zeros((3, 4), complex), zeros((4, 5))), "argument 'a'.*complex"),
        (lambda: samite.matmul(zeros((3, 4), np.int64), zeros((4, 5), np.int64)), "factors of int64_t"),
        (
            lambda: samite.scaled_mm(zeros((3, 400), f8), zeros((400, 5), f8), zeros((3, 3), f4), zeros((1, 1), f4)),
            r"expected scale_a with shape \(1, 1\), \(3, 1\), \(3, 4\) or \(1, 4\), and scale_b.*"
            r"scale_a of float32 with shape \(3, 3\)",
        ),
        (
            lambda: samite.scaled_mm(zeros((3, 4), e5m2), zeros((4, 5), e5m2), zeros((1, 1), f4), zeros((1, 1), f4)),
            "quantise one to f8e4m3",
        ),
        (
            lambda: samite.grouped_mm(zeros((3, 4)), zeros((2, 5, 4)), np.zeros(3, np.int32)),
            "expected matrices of 4 rows in b.*they would fit with b transposed",
        ),
        (
            lambda: samite.grouped_mm(zeros((3, 4)), zeros((2, 4, 5)), np.zeros(2, np.int32)),
            r"expected offsets of int32 with shape \(3,\)",
        ),
        (lambda: samite.grouped_mm(zeros((3, 4)), zeros((2, 4, 5)), np.zeros(3)), "expected offsets of int32"),
        (lambda: samite.grouped_mm(zeros((3, 4)), zeros(4), np.zeros(3, np.int32)), "a matrix for each group"),
        (
            lambda: samite.grouped_mm(zeros((3, 4)), zeros((3, 5)), np.zeros(3, np.int32)),
            "expected b with 4 rows.*they would fit with a transposed",
        ),
        (
            lambda: samite.grouped_mm(zeros((3, 4)), zeros((4, 5)), np.zeros(3, np.int32), activation="relu"),
            "expected neither a bias nor an activation where b is a matrix",
        ),
        (lambda: samite.grouped_mm(zeros((3, 4)), zeros((4, 5)), np.zeros(1, np.int32)), "of one group at least"),
        (lambda: samite.grouped_mm(zeros((3, 4)), zeros((4, 5)), np.zeros((2, 2), np.int32)), "in one dimension"),
        (lambda: samite.grouped_mm(zeros((3, 4)), zeros((4, 5)), np.zeros(2)), "expected offsets of int32"),
        (
            lambda: samite.grouped_mm(zeros((3, 4)), zeros((4, 5)), np.array([0, 3, 2], np.int32)),
            "group 1 is of the rows from 3 to before 2 of 4",
        ),
        (lambda: samite.grouped_mm(zeros((3, 4), int), zeros((1, 4, 5), int), np.zeros(2, np.int32)), "grouped_mm: exp"),
        (
            lambda: samite.grouped_mm(zeros((3, 4)), zeros((2, 4, 5)), np.array([0, 2, 4], np.int32)),
            "group 1 is of the rows from 2 to before 4 of 3",
        ),
        (
            lambda: scaled_groups(scale_a=zeros((2, 3), f4)),
            r"expected scale_a with shape \(1, 1\), \(3, 1\) or \(3, 4\), and scale_b with shape \(2, 1, 1\), "
            r"\(2, 1, 5\), \(2, 4, 5\) or \(2, 4, 1\).*scale_a of float32 with shape \(2, 3\)",
        ),
        (
            lambda: scaled_groups(a=zeros((130, 400), f8), scale_a=zeros((2, 4), f4)),
            "scale_a has one scale for 128 rows of a, which may belong to several groups",
        ),
        (lambda: scaled_groups(scale_a=zeros((1, 400), f4)), "a scale for each of the terms that are added up"),
        (lambda: scaled_groups(scale_b=zeros((1, 1, 1), f4)), r"scale_b with shape \(2, 1, 1\)"),
        (lambda: scaled_groups(scale_b=zeros((2, 1, 1))), "expected scale_b of float32"),
        (lambda: scaled_groups(offsets=np.zeros(2, np.int32)), r"expected offsets of int32 with shape \(3,\)"),
        (lambda: scaled_groups(offsets=np.array([0, 2, 4], np.int32)), "group 1 is of the rows from 2 to before 4 of 3"),
        (lambda: scaled_groups(a=zeros((3, 5), f8)), "scaled_grouped_mm.*expected matrices of 5 rows in b"),
        (lambda: scaled_groups(a=zeros((3, 400), f4)), "expected factors of f8e4m3, of which one may be f8e5m2"),
        (lambda: scaled_groups(a=None), "argument 'a' expects an array.*None is given"),
        (lambda: scaled_groups(bias=zeros(5, f4)), r"expected bias of float32 with shape \(2, 5\)"),
        (lambda: scaled_groups(activation="softplus"), "activation expects one of"),
        (lambda: samite.quantise(zeros((3, 4), f4), group=(2, 4)), "1, 128 or None"),
        (lambda: samite.quantise(zeros((3, 4), f4), group=(1, 1)), "would be a scale for each number"),
        (lambda: samite.quantise(zeros((3, 4))), "8-bit floating type"),
        (lambda: samite.softmax(zeros((3, 4), int)), "softmax: expected elements of half"),
        (lambda: samite.layer_norm(zeros((3, 4)), zeros(3)), r"expected weight of float64 with shape \(4,\)"),
        (lambda: samite.rms_norm(zeros((3, 4)), zeros(3)), r"expected weight of float64 with shape \(4,\)"),
        (lambda: samite.group_norm(zeros((3, 4)), 3), "divides the channels; 3 is given"),
        (lambda: samite.cross_entropy(zeros((3, 4)), zeros(3)), "expected targets of int32 or int64"),
        (lambda: samite.cross_entropy(zeros((3, 4)), zeros(4, int)), r"expected targets of int64 with shape \(3,\)"),
        (lambda: samite.cross_entropy(zeros((3, 4)), zeros(3, int), reduction="max"), "'none', 'sum', 'mean'; 'max'"),
        (lambda: samite.cross_entropy(zeros((3, 4)), zeros(3, int), smoothing=2), "smoothing from 0 to 1; 2 is given"),
        (lambda: samite.rotary(zeros((1, 1, 2, 3)), zeros(2), zeros(2)), "with an even size"),
        (lambda: samite.rotary(zeros((1, 1, 2, 4)), zeros(2), zeros(2)), r"expected cosines .* with shape \(2, 2\)"),
        (lambda: samite.attention(*(zeros((2, 3, 4)),) * 3), r"expected arrays of \(batches, heads, rows, size\)"),
        (lambda: samite.attention(*(zeros((1, 1, 2, 300)),) * 3), "up to 256 numbers"),
        (lambda: samite.attention(*(zeros((1, 1, 2, 3)),) * 3, window=0), "a window of at least one row; 0 is given"),
        (lambda: samite.attention(*(zeros((1, 1, 2, 3)),) * 3, bias=zeros((2, 2))), r"shape \(1, 1, 2, 2\)"),
        (lambda: samite.attention(*(zeros((1, 1, 2, 3)),) * 3, lengths=zeros(1)), "expected lengths of int32"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(samite.UserError, match="(?s)" + message):
        call()


def test_threads_that_multiply_at_once():
    factors = [normal(40, 50) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        for a, c in zip(factors, threads.map(lambda a: [samite.matmul(a, a.T) for _ in range(20)][-1], factors)):
            close(c, a @ a.T, 1e-12)


def test_a_product_is_planned_once_for_each_layout():
    a, b = normal(11, 12), normal(12, 13)
    samite.matmul(a, b)
    before = len(samite.ready._products)
    for _ in range(3):
        samite.matmul(normal(11, 12), b)
    assert len(samite.ready._products) == before
    samite.matmul(a, np.asfortranarray(b))
    assert len(samite.ready._products) == before + 1
