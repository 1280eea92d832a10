"""Ready operations on tensors, against torch, and their gradients."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

import samite  # noqa: E402
import samite.torch  # noqa: E402

F = torch.nn.functional


pytestmark = pytest.mark.usefixtures("torch_on")


@pytest.fixture
def doubles(device):
    return lambda *shape: torch.randn(*shape, dtype=torch.float64, device=device, requires_grad=True)


@pytest.fixture
def numbers(device):
    return lambda *shape, dtype=torch.float32: torch.randn(*shape, device=device).to(dtype)


def check(function, *arguments, twice=False):
    # On a GPU sums are not always added up in the same order.
    assert torch.autograd.gradcheck(function, arguments, nondet_tol=1e-12)
    if twice:
        assert torch.autograd.gradgradcheck(function, arguments, nondet_tol=1e-12)


# Of sums in that type, or of products in it that are summed in float32.
TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 3e-2}
every_type = pytest.mark.parametrize("dtype", TOLERANCES)


def close(actual, expected, tolerance):
    """As far apart as a part of the largest number, and none is missing."""
    assert actual.shape == expected.shape and not actual.isnan().any()
    largest = expected.abs().max() if expected.numel() else 0
    assert ((actual.double() - expected).abs() <= tolerance * largest).all(), (actual.double() - expected).abs().max()


@every_type
@pytest.mark.parametrize("m, n, k", [(20, 40, 33), (1, 1, 1), (1, 300, 77), (129, 65, 257), (200, 136, 64), (3, 5, 0)])
def test_products(dtype, m, n, k, numbers):
    a, b = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype)
    for left, right in ((a, b), (a, b.t().contiguous().t()), (a.t().contiguous().t(), b)):
        c = samite.matmul(left, right)
        assert c.dtype == dtype
        close(c, a.double() @ b.double(), TOLERANCES[dtype])


@every_type
def test_products_with_gaps_and_into_views(dtype, numbers):
    a, b = numbers(70, 100, dtype=dtype)[::2, 1::3], numbers(3, 33, 24, dtype=dtype)
    whole = numbers(35, 48, dtype=dtype)
    before = whole.clone()
    samite.matmul(a, b[1], out=whole[:, ::2])
    close(whole[:, ::2], a.double() @ b[1].double(), TOLERANCES[dtype])
    assert torch.equal(whole[:, 1::2], before[:, 1::2])
    close(samite.matmul(numbers(3, 7, 33, dtype=dtype), b * 0), torch.zeros_like(b[:, :7], dtype=torch.float64), 0)


def test_products_of_integers(device):
    a, b = torch.randint(-128, 128, (70, 90), device=device), torch.randint(-128, 128, (90, 33), device=device)
    c = samite.matmul(a.to(torch.int8), b.to(torch.int8))
    assert c.dtype == torch.int32 and torch.equal(c.double(), a.double() @ b.double())


@every_type
def test_products_of_groups_of_rows(dtype, numbers, device):
    a, b = numbers(300, 70, dtype=dtype), numbers(5, 70, 50, dtype=dtype)
    bounds = [0, 1, 1, 130, 259, 300]
    offsets = torch.tensor(bounds, dtype=torch.int32, device=device)
    expected = torch.cat([a[i:j].double() @ each.double() for each, i, j in zip(b, bounds, bounds[1:])])
    close(samite.grouped_mm(a, b, offsets), expected, TOLERANCES[dtype])
    close(samite.grouped_mm(a, b.mT.contiguous().mT, offsets), expected, TOLERANCES[dtype])


@every_type
@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (2, 3, 40), (5, 33), (7, 1000), (3, 4099), (0, 5)])
def test_rows_of_any_length(dtype, shape, numbers):
    x = 3 * numbers(*shape, dtype=dtype)
    weight, bias = numbers(shape[-1], dtype=dtype), numbers(shape[-1], dtype=dtype)
    close(samite.softmax(x), x.double().softmax(-1), TOLERANCES[dtype])
    expected = F.layer_norm(x.double(), shape[-1:], weight.double(), bias.double())
    close(samite.layer_norm(x, weight, bias), expected, 4 * TOLERANCES[dtype])
    strided = x.expand(2, *shape)[1].flip(-1) if x.numel() else x
    close(samite.softmax(strided), strided.double().softmax(-1), TOLERANCES[dtype])


@every_type
@pytest.mark.parametrize("rows, keys, size", [(1, 1, 16), (70, 50, 64), (33, 129, 80), (130, 130, 128), (5, 300, 100)])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_any_shape(dtype, rows, keys, size, causal, numbers):
    q, k, v = (numbers(2, 3, count, size, dtype=dtype) for count in (rows, keys, keys))
    expected = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=causal)
    close(samite.attention(q, k, v, causal=causal), expected, TOLERANCES[dtype])
    by_rows = [each.transpose(1, 2).contiguous().transpose(1, 2) for each in (q, k, v)]
    close(samite.attention(*by_rows, causal=causal), expected, TOLERANCES[dtype])


GROUPS = [(None, None), (1, None), (1, 128), (128, 128)]


def spread(scale, shape):
    """Scales as large as the matrix."""
    for d in (0, 1):
        if scale.shape[d] not in (1, shape[d]):
            scale = scale.repeat_interleave(128, d).narrow(d, 0, shape[d])
    return scale.expand(shape).double()


@pytest.mark.parametrize("of_a", GROUPS)
@pytest.mark.parametrize("of_b", GROUPS)
@pytest.mark.parametrize("m, n, k", [(150, 140, 300), (1, 17, 128), (257, 384, 256)])
def test_scaled_products(of_a, of_b, m, n, k, numbers):
    (a, scale_a), (b, scale_b) = samite.quantise(numbers(m, k), group=of_a), samite.quantise(numbers(n, k), group=of_b)
    expected = (a.double() * spread(scale_a, a.shape)) @ (b.double() * spread(scale_b, b.shape)).t()
    close(samite.scaled_mm(a, b.t(), scale_a, scale_b.t(), out_dtype=torch.float32), expected, 2e-3)
    close(samite.scaled_mm(a, b.t(), scale_a, scale_b.t()), expected, 1e-2)


@pytest.mark.parametrize("of_a", GROUPS[:3])
@pytest.mark.parametrize("of_b", GROUPS)
@pytest.mark.parametrize("bounds, n, k", [([0, 1, 1, 130, 259, 300], 140, 300), ([5, 133, 261], 256, 256)])
def test_scaled_products_of_groups_of_rows(of_a, of_b, bounds, n, k, numbers, device):
    a, scale_a = samite.quantise(numbers(bounds[-1], k), group=of_a)
    each = [samite.quantise(numbers(n, k), group=of_b) for _ in bounds[1:]]
    b, scale_b = (torch.stack(parts).mT for parts in zip(*each))
    wide = [q.double() * spread(scale, q.shape) for q, scale in each]
    left = a.double() * spread(scale_a, a.shape)
    expected = torch.cat([left[i:j] @ right.t() for right, i, j in zip(wide, bounds, bounds[1:])])
    offsets = torch.tensor(bounds, dtype=torch.int32, device=device)
    c = samite.scaled_grouped_mm(a, b, scale_a, scale_b, offsets, out_dtype=torch.float32)
    close(c[bounds[0]:], expected, 2e-3)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_quantised_matrices(group, dtype, numbers):
    x = numbers(150, 300)
    q, scale = samite.quantise(x, dtype=dtype, group=group)
    assert q.dtype == dtype and q.double().abs().max() == torch.finfo(dtype).max
    meant = q.double() * spread(scale, x.shape)
    digit = 1 / 16 if dtype == torch.float8_e4m3fn else 1 / 8
    assert ((meant - x).abs() <= x.abs() * digit + spread(scale, x.shape) * 2.0**-9).all()
    close(samite.dequantise(q, scale), meant, 1e-6)


ACTIVATIONS = {"relu": F.relu, "silu": F.silu, "gelu": F.gelu, "tanh": torch.tanh, "sigmoid": torch.sigmoid}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_layers(activation, doubles):
    a, b, bias, residual = doubles(5, 6), doubles(6, 4), doubles(4), doubles(5, 4)

    def layer(a, b, bias, residual):
        return samite.torch.matmul(a, b, bias=bias, residual=residual, activation=activation)

    expected = ACTIVATIONS[activation](a @ b + bias) + residual
    assert torch.allclose(layer(a, b, bias, residual), expected)
    check(layer, a, b, bias, residual, twice=True)


def test_gradients_of_products_in_batches(doubles):
    check(samite.torch.matmul, doubles(2, 3, 4), doubles(2, 4, 5), twice=True)
    check(samite.torch.matmul, doubles(2, 3, 4), doubles(4, 5), twice=True)  # one matrix for all


def test_gradients_of_products_of_groups(doubles, device):
    offsets = torch.tensor([1, 3, 3, 7], dtype=torch.int32, device=device)
    for activation in (None, "gelu"):
        check(
            lambda a, b, bias: samite.torch.grouped_mm(a, b, offsets, bias=bias, activation=activation),
            doubles(8, 4), doubles(3, 4, 5), doubles(3, 5), twice=True,
        )  # fmt: skip
    check(lambda a, b: samite.torch.grouped_mm(a, b.mT, offsets), doubles(8, 4), doubles(3, 5, 4), twice=True)
    check(lambda a, b: samite.torch.grouped_mm(a, b, offsets), doubles(4, 8), doubles(8, 5), twice=True)
    check(lambda a, b: samite.torch.grouped_mm(a.t(), b, offsets), doubles(8, 4), doubles(8, 5), twice=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_of_layers_of_experts(dtype, numbers, device):
    bounds = [0, 1, 130, 130, 297]
    offsets = torch.tensor(bounds, dtype=torch.int32, device=device)
    given = [numbers(*shape, dtype=dtype).requires_grad_() for shape in ((300, 64), (4, 64, 50), (4, 50))]
    a, b, bias = given
    weights = numbers(300, 50, dtype=dtype)
    c = samite.torch.grouped_mm(a, b, offsets, bias=bias, activation="silu")
    assert not c[297:].any()
    (c * weights).sum().backward()
    wide = [each.detach().double().requires_grad_() for each in given]
    parts = [F.silu(wide[0][i:j] @ wide[1][g] + wide[2][g]) for g, (i, j) in enumerate(zip(bounds, bounds[1:]))]
    (torch.cat(parts) * weights[:297].double()).sum().backward()
    for mine, expected in zip(given, wide):
        assert mine.grad.dtype == dtype
        close(mine.grad, expected.grad, 2 * TOLERANCES[dtype])


def test_what_products_of_groups_do_not_take_is_named(numbers, device):
    offsets = torch.tensor([0, 2, 4], dtype=torch.int32, device=device)
    a, b = numbers(4, 3), numbers(2, 3, 5)
    for call, message in [
        (lambda: samite.torch.grouped_mm(a, b.mT, offsets), "they would fit with b transposed"),
        (lambda: samite.torch.grouped_mm(a, b, offsets.long()), r"expected offsets of int32 with shape \(3,\)"),
        (lambda: samite.torch.grouped_mm(a, b, offsets, bias=b[0]), r"expected bias of float32 with shape \(2, 5\)"),
        (lambda: samite.torch.grouped_mm(a[0], b, offsets), "expected a matrix a"),
        (lambda: samite.torch.scaled_grouped_mm(a, b, a, b, offsets), "expected scale_a with shape"),
        (lambda: samite.torch.scaled_grouped_mm(a[0], b, a, b, offsets), "expected a matrix a"),
        (lambda: samite.grouped_mm(a.requires_grad_(), b, offsets), r"call samite\.torch\.grouped_mm\(\)"),
    ]:
        with pytest.raises(samite.UserError, match=message):
            call()


def test_a_tensor_that_requires_a_gradient_is_refused_with_the_name_of_the_other_function(doubles, numbers):
    with pytest.raises(samite.UserError, match=r"call samite\.torch\.matmul\(\), or give tensor\.detach"):
        samite.matmul(doubles(2, 3), doubles(3, 4))
    with pytest.raises(samite.UserError, match=r"through this call: give tensor\.detach\(\)"):
        samite.quantise(numbers(2, 3).requires_grad_())


def test_softmax_and_its_gradients(doubles):
    x = doubles(2, 3, 40)
    assert torch.allclose(samite.torch.softmax(x), x.softmax(-1))
    check(samite.torch.softmax, doubles(3, 7), twice=True)


def test_layer_norm_and_its_gradients(doubles):
    x, weight, bias = doubles(2, 3, 20), doubles(20), doubles(20)
    assert torch.allclose(samite.torch.layer_norm(x, weight, bias), F.layer_norm(x, (20,), weight, bias))
    assert torch.allclose(samite.torch.layer_norm(x), F.layer_norm(x, (20,)))
    check(samite.torch.layer_norm, doubles(3, 7), doubles(7), doubles(7))


def test_rms_norm_and_its_gradients(doubles):
    x, weight = doubles(2, 3, 20), doubles(20)
    assert torch.allclose(samite.torch.rms_norm(x, weight), F.rms_norm(x, (20,), weight, 1e-6))
    assert torch.allclose(samite.torch.rms_norm(x), F.rms_norm(x, (20,), None, 1e-6))
    check(samite.torch.rms_norm, doubles(3, 7), doubles(7))
    check(samite.torch.rms_norm, doubles(3, 7))


def test_group_norm_and_its_gradients(doubles):
    x, weight, bias = doubles(2, 6, 4, 5), doubles(6), doubles(6)
    assert torch.allclose(samite.torch.group_norm(x, 3, weight, bias), F.group_norm(x, 3, weight, bias))
    assert torch.allclose(samite.torch.group_norm(x, 3), F.group_norm(x, 3))
    check(
        lambda x, weight, bias: samite.torch.group_norm(x, 2, weight, bias), doubles(2, 4, 3), doubles(4), doubles(4)
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_and_its_gradients(reduction, doubles, device):
    logits, targets = doubles(6, 40), torch.tensor([3, 39, -100, 0, 7, 7], device=device)
    options = {"reduction": reduction, "label_smoothing": 0.1}
    mine = samite.torch.cross_entropy(logits, targets, reduction=reduction, smoothing=0.1)
    assert torch.allclose(mine, F.cross_entropy(logits, targets, **options))
    check(
        lambda x: samite.torch.cross_entropy(x, targets[:3] % 7, reduction=reduction, smoothing=0.1, ignored=4),
        doubles(3, 7),
    )


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_and_its_gradients(interleaved, doubles, numbers):
    cosines, sines = numbers(5, 3), numbers(5, 3)
    check(
        lambda x: samite.torch.rotary(x, cosines, sines, interleaved=interleaved), doubles(1, 2, 5, 6), twice=True
    )
    with pytest.raises(samite.UserError, match="cosines and sines have no gradients here"):
        samite.torch.rotary(doubles(1, 2, 5, 6), cosines.requires_grad_(), sines)


def test_layers_under_torch_compile_and_opcheck(numbers, device):
    x, targets = numbers(4, 6, 3).requires_grad_(), torch.tensor([1, 5, 0, 2], device=device)
    logits = numbers(4, 6).requires_grad_()
    torch.library.opcheck(torch.ops.samite.rms_norm.default, (x, numbers(3).requires_grad_(), 1e-6))
    torch.library.opcheck(torch.ops.samite.group_norm.default, (x, 2, numbers(6), numbers(6), 1e-5))
    torch.library.opcheck(torch.ops.samite.cross_entropy.default, (logits, targets, "mean", 0.0, -100))
    torch.library.opcheck(
        torch.ops.samite.rotary.default, (numbers(1, 2, 3, 4).requires_grad_(), numbers(3, 2), numbers(3, 2), True, False)
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_of_layer_norm_in_16_bits(dtype, numbers):
    x, weight, bias = (numbers(*shape, dtype=dtype).requires_grad_() for shape in ((500, 64), (64,), (64,)))
    samite.torch.layer_norm(x, weight, bias).square().sum().backward()
    mine = [each.grad.float() for each in (x, weight, bias)]
    wide = [each.detach().double().requires_grad_() for each in (x, weight, bias)]
    F.layer_norm(wide[0], (64,), *wide[1:]).square().sum().backward()
    for actual, expected in zip(mine, wide):
        scale = expected.grad.abs().max()
        assert (actual - expected.grad).abs().max() < 0.03 * scale


@pytest.mark.parametrize("causal", [False, True])
def test_attention_and_its_gradients(causal, doubles):
    q, k, v = doubles(2, 3, 40, 16), doubles(2, 3, 30, 16), doubles(2, 3, 30, 16)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    assert torch.allclose(samite.torch.attention(q, k, v, causal=causal), expected)
    check(
        lambda q, k, v: samite.torch.attention(q, k, v, causal=causal, scale=0.7),
        doubles(1, 2, 5, 3), doubles(1, 2, 4, 3), doubles(1, 2, 4, 3),
    )  # fmt: skip


def test_attention_with_masks_and_its_gradients(doubles, device):
    q, k, v = doubles(2, 4, 6, 8), doubles(2, 2, 9, 8), doubles(2, 2, 9, 8)
    bias = torch.randn(2, 4, 6, 9, dtype=torch.float64, device=device)
    distance = torch.arange(9, device=device) - torch.arange(6, device=device)[:, None] - 3
    slopes = torch.tensor([0.5, 0.25, 0.125, 1.0], dtype=torch.float64, device=device)
    added = bias - slopes[:, None, None] * distance.abs()
    added = added.masked_fill((distance > 0) | (distance <= -4), -torch.inf)
    masks = {"causal": True, "from_the_end": True, "window": 4, "bias": bias, "slopes": slopes}
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=added, enable_gqa=True)
    assert torch.allclose(samite.torch.attention(q, k, v, **masks), expected)
    masks["lengths"] = torch.tensor([7, 2], dtype=torch.int32, device=device)  # rows that see nothing
    check(lambda q, k, v: samite.torch.attention(q, k, v, scale=0.7, **masks), q, k, v)
    with pytest.raises(samite.UserError, match="the bias has no gradient here"):
        samite.torch.attention(q, k, v, bias=bias.requires_grad_())


@pytest.mark.parametrize("size", [64, 128])
def test_gradients_of_attention_in_16_bits(size, numbers):
    given = [numbers(1, 2, 70, size, dtype=torch.bfloat16).requires_grad_() for _ in range(3)]
    samite.torch.attention(*given, causal=True).float().square().sum().backward()
    wide = [each.detach().double().requires_grad_() for each in given]
    F.scaled_dot_product_attention(*wide, is_causal=True).square().sum().backward()
    for mine, expected in zip(given, wide):
        assert (mine.grad.double() - expected.grad).abs().max() < 0.03 * expected.grad.abs().max()


def test_a_second_derivative_that_there_is_not_is_refused(doubles):
    x = doubles(3, 7)
    (gradient,) = torch.autograd.grad(samite.torch.layer_norm(x).sum(), x, create_graph=True)
    with pytest.raises(samite.UserError, match="layer_norm_adjoint has no derivative, so there is no second one here"):
        gradient.sum().backward()


def test_the_gradient_of_a_product_of_8_bit_numbers_is_refused(numbers):
    a, scale = samite.quantise(numbers(4, 4))
    bias = numbers(4, dtype=torch.bfloat16).requires_grad_()
    with pytest.raises(samite.UserError, match=r"scaled_mm has no derivative: multiply with matmul_8bit\(\)"):
        samite.torch.scaled_mm(a, a, scale, scale, bias=bias).sum().backward()


@pytest.mark.parametrize("out_dtype", [torch.bfloat16, torch.float32])
def test_scaled_products_are_those_of_torch(out_dtype, numbers, device):
    a, b = numbers(32, 64), numbers(48, 64)
    a8, scale_a = samite.quantise(a, group=(1, None))
    b8, scale_b = samite.quantise(b, group=(1, None))
    c = samite.scaled_mm(a8, b8.t(), scale_a, scale_b.t(), out_dtype=out_dtype)
    assert c.dtype == out_dtype
    expected = (a8.double() * scale_a) @ (b8.double() * scale_b).t()
    assert torch.allclose(c.double(), expected, rtol=1e-2, atol=1e-2)
    one_a, one_b = torch.tensor(0.5, device=device), torch.tensor(2.0, device=device)
    try:
        theirs = torch._scaled_mm(a8, b8.t(), scale_a=one_a, scale_b=one_b, out_dtype=out_dtype)
    except RuntimeError as error:
        pytest.skip(f"torch has no such product here: {error}")
    ours = samite.scaled_mm(a8, b8.t(), one_a, one_b, out_dtype=out_dtype)
    assert torch.allclose(ours.double(), theirs.double(), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("recipe", ["tensor", "row", "block"])
@pytest.mark.parametrize("cotangent", [torch.float8_e5m2, torch.float8_e4m3fn])
def test_products_in_8_bits_forward_and_back(recipe, cotangent, numbers):
    a, b = numbers(150, 200).requires_grad_(), numbers(200, 140).requires_grad_()
    weights = numbers(150, 140)
    c = samite.torch.matmul_8bit(a, b, recipe=recipe, cotangent_dtype=cotangent)
    (c * weights).sum().backward()
    with torch.no_grad():
        for actual, expected in ((c, a @ b), (a.grad, weights @ b.t()), (b.grad, a.t() @ weights)):
            # Errors of an eighth of each term in e5m2, or less, of which most cancel.
            error = (actual - expected).norm() / expected.norm()
            assert error < (0.11 if cotangent is torch.float8_e5m2 else 0.06), error


def test_what_8_bits_do_not_take_is_named(numbers):
    a = numbers(4, 4)
    with pytest.raises(samite.UserError, match="recipe expects one of 'tensor', 'row', 'block'; 'rows' is given"):
        samite.torch.matmul_8bit(a, a, recipe="rows")
    with pytest.raises(samite.UserError, match="cotangent_dtype expects"):
        samite.torch.matmul_8bit(a, a, cotangent_dtype=torch.float16)


def test_ops_of_torch(numbers, device):
    x = numbers(3, 8).requires_grad_()
    torch.library.opcheck(torch.ops.samite.softmax.default, (x,))
    torch.library.opcheck(torch.ops.samite.matmul.default, (x, numbers(8, 4), None, None, "relu", torch.float32, False))
    offsets = torch.tensor([0, 1, 3], dtype=torch.int32, device=device)
    grouped = torch.ops.samite.grouped_mm.default
    b = numbers(2, 8, 4).requires_grad_()
    torch.library.opcheck(grouped, (x, b, offsets, numbers(2, 4), "silu", torch.float32, False))
    torch.library.opcheck(grouped, (x.t(), numbers(3, 4).requires_grad_(), offsets, None, "none", torch.float32, False))
    x8, b8 = x.detach().to(torch.float8_e4m3fn), b.detach().to(torch.float8_e4m3fn)
    scales = torch.ones(3, 1, device=device), torch.ones(2, 1, 4, device=device)
    torch.library.opcheck(
        torch.ops.samite.scaled_grouped_mm.default,
        (x8, b8, *scales, offsets, None, "none", torch.float32),
        test_utils="test_faketensor",  # which needs no sums in 8 bits of torch
    )
    q = numbers(1, 1, 4, 8).requires_grad_()
    torch.library.opcheck(torch.ops.samite.attention.default, (q, q, q, True, 0.5, False, 7, None, None, None))


def test_compiled_without_a_graph_break(numbers, device):
    offsets = torch.tensor([0, 2, 5], dtype=torch.int32, device=device)

    def network(x, w):
        h = samite.torch.matmul(x, w, activation="gelu")
        h = samite.torch.grouped_mm(h, torch.stack((w, w)), offsets)
        return samite.torch.layer_norm(samite.torch.softmax(h)).square().sum()

    x, w = numbers(6, 8).requires_grad_(), numbers(8, 8).requires_grad_()
    expected = torch.autograd.grad(network(x, w), (x, w))
    compiled = torch.compile(network, fullgraph=True, backend="aot_eager")
    for actual, each in zip(torch.autograd.grad(compiled(x, w), (x, w)), expected):
        assert torch.allclose(actual, each)


def test_under_vmap(numbers):
    x = numbers(3, 4, 5)
    assert torch.allclose(torch.func.vmap(samite.torch.softmax)(x), x.softmax(-1))
    b = numbers(5, 6)
    product = torch.func.vmap(samite.torch.matmul, in_dims=(0, None))(x, b)
    assert torch.allclose(product, x @ b, atol=1e-5)
