"""Ready operations on tensors, against torch, and their gradients."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

import samite  # noqa: E402
import samite.torch  # noqa: E402

F = torch.nn.functional
generator = torch.Generator().manual_seed(0)


def doubles(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=generator, requires_grad=True)


def numbers(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=generator).to(dtype)


def check(function, *arguments, twice=False):
    assert torch.autograd.gradcheck(function, arguments)
    if twice:
        assert torch.autograd.gradgradcheck(function, arguments)


@pytest.mark.parametrize(
    "dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-4), (torch.float16, 2e-2), (torch.bfloat16, 1e-1)]
)
def test_products(dtype, tolerance):
    a, b = numbers(20, 33, dtype=dtype), numbers(33, 40, dtype=dtype)
    for left, right in ((a, b), (a, b.t().contiguous().t())):
        c = samite.matmul(left, right)
        assert c.dtype == dtype and torch.allclose(c, a @ b, rtol=tolerance, atol=tolerance)


ACTIVATIONS = {"relu": F.relu, "silu": F.silu, "gelu": F.gelu, "tanh": torch.tanh, "sigmoid": torch.sigmoid}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_layers(activation):
    a, b, bias, residual = doubles(5, 6), doubles(6, 4), doubles(4), doubles(5, 4)

    def layer(a, b, bias, residual):
        return samite.torch.matmul(a, b, bias=bias, residual=residual, activation=activation)

    expected = ACTIVATIONS[activation](a @ b + bias) + residual
    assert torch.allclose(layer(a, b, bias, residual), expected)
    check(layer, a, b, bias, residual, twice=True)


def test_gradients_of_products_in_batches():
    check(samite.torch.matmul, doubles(2, 3, 4), doubles(2, 4, 5), twice=True)
    check(samite.torch.matmul, doubles(2, 3, 4), doubles(4, 5), twice=True)  # one matrix for all


def test_a_tensor_that_requires_a_gradient_is_refused_with_the_name_of_the_other_function():
    with pytest.raises(samite.UserError, match=r"call samite\.torch\.matmul\(\), or give tensor\.detach"):
        samite.matmul(doubles(2, 3), doubles(3, 4))
    with pytest.raises(samite.UserError, match=r"through this call: give tensor\.detach\(\)"):
        samite.quantise(numbers(2, 3).requires_grad_())


def test_softmax_and_its_gradients():
    x = doubles(2, 3, 40)
    assert torch.allclose(samite.torch.softmax(x), x.softmax(-1))
    check(samite.torch.softmax, doubles(3, 7), twice=True)


def test_layer_norm_and_its_gradients():
    x, weight, bias = doubles(2, 3, 20), doubles(20), doubles(20)
    assert torch.allclose(samite.torch.layer_norm(x, weight, bias), F.layer_norm(x, (20,), weight, bias))
    assert torch.allclose(samite.torch.layer_norm(x), F.layer_norm(x, (20,)))
    check(samite.torch.layer_norm, doubles(3, 7), doubles(7), doubles(7))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_of_layer_norm_in_16_bits(dtype):
    x, weight, bias = (numbers(*shape, dtype=dtype).requires_grad_() for shape in ((500, 64), (64,), (64,)))
    samite.torch.layer_norm(x, weight, bias).square().sum().backward()
    mine = [each.grad.float() for each in (x, weight, bias)]
    wide = [each.detach().double().requires_grad_() for each in (x, weight, bias)]
    F.layer_norm(wide[0], (64,), *wide[1:]).square().sum().backward()
    for actual, expected in zip(mine, wide):
        scale = expected.grad.abs().max()
        assert (actual - expected.grad).abs().max() < 0.03 * scale


@pytest.mark.parametrize("causal", [False, True])
def test_attention_and_its_gradients(causal):
    q, k, v = doubles(2, 3, 40, 16), doubles(2, 3, 30, 16), doubles(2, 3, 30, 16)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    assert torch.allclose(samite.torch.attention(q, k, v, causal=causal), expected)
    check(
        lambda q, k, v: samite.torch.attention(q, k, v, causal=causal, scale=0.7),
        doubles(1, 2, 5, 3), doubles(1, 2, 4, 3), doubles(1, 2, 4, 3),
    )  # fmt: skip


@pytest.mark.parametrize("size", [64, 128])
def test_gradients_of_attention_in_16_bits(size):
    given = [numbers(1, 2, 70, size, dtype=torch.bfloat16).requires_grad_() for _ in range(3)]
    samite.torch.attention(*given, causal=True).float().square().sum().backward()
    wide = [each.detach().double().requires_grad_() for each in given]
    F.scaled_dot_product_attention(*wide, is_causal=True).square().sum().backward()
    for mine, expected in zip(given, wide):
        assert (mine.grad.double() - expected.grad).abs().max() < 0.03 * expected.grad.abs().max()


def test_a_second_derivative_that_there_is_not_is_refused():
    x = doubles(3, 7)
    (gradient,) = torch.autograd.grad(samite.torch.layer_norm(x).sum(), x, create_graph=True)
    with pytest.raises(samite.UserError, match="layer_norm_adjoint has no derivative, so there is no second one here"):
        gradient.sum().backward()


def test_the_gradient_of_a_product_of_8_bit_numbers_is_refused():
    a, scale = samite.quantise(numbers(4, 4))
    bias = numbers(4, dtype=torch.bfloat16).requires_grad_()
    with pytest.raises(samite.UserError, match=r"scaled_mm has no derivative: multiply with matmul_8bit\(\)"):
        samite.torch.scaled_mm(a, a, scale, scale, bias=bias).sum().backward()


@pytest.mark.parametrize("out_dtype", [torch.bfloat16, torch.float32])
def test_scaled_products_are_those_of_torch(out_dtype):
    a, b = numbers(32, 64), numbers(48, 64)
    a8, scale_a = samite.quantise(a, group=(1, None))
    b8, scale_b = samite.quantise(b, group=(1, None))
    c = samite.scaled_mm(a8, b8.t(), scale_a, scale_b.t(), out_dtype=out_dtype)
    assert c.dtype == out_dtype
    expected = (a8.double() * scale_a) @ (b8.double() * scale_b).t()
    assert torch.allclose(c.double(), expected, rtol=1e-2, atol=1e-2)
    one_a, one_b = torch.tensor(0.5), torch.tensor(2.0)
    try:
        theirs = torch._scaled_mm(a8, b8.t(), scale_a=one_a, scale_b=one_b, out_dtype=out_dtype)
    except RuntimeError as error:
        pytest.skip(f"torch has no such product here: {error}")
    ours = samite.scaled_mm(a8, b8.t(), one_a, one_b, out_dtype=out_dtype)
    assert torch.allclose(ours.double(), theirs.double(), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("recipe", ["tensor", "row", "block"])
@pytest.mark.parametrize("cotangent", [torch.float8_e5m2, torch.float8_e4m3fn])
def test_products_in_8_bits_forward_and_back(recipe, cotangent):
    a, b = numbers(150, 200).requires_grad_(), numbers(200, 140).requires_grad_()
    weights = numbers(150, 140)
    c = samite.torch.matmul_8bit(a, b, recipe=recipe, cotangent_dtype=cotangent)
    (c * weights).sum().backward()
    with torch.no_grad():
        for actual, expected in ((c, a @ b), (a.grad, weights @ b.t()), (b.grad, a.t() @ weights)):
            # Errors of an eighth of each term in e5m2, or less, of which most cancel.
            error = (actual - expected).norm() / expected.norm()
            assert error < (0.11 if cotangent is torch.float8_e5m2 else 0.06), error


def test_what_8_bits_do_not_take_is_named():
    a = numbers(4, 4)
    with pytest.raises(samite.UserError, match="recipe expects one of 'tensor', 'row', 'block'; 'rows' is given"):
        samite.torch.matmul_8bit(a, a, recipe="rows")
    with pytest.raises(samite.UserError, match="cotangent_dtype expects"):
        samite.torch.matmul_8bit(a, a, cotangent_dtype=torch.float16)


def test_ops_of_torch():
    x = numbers(3, 8).requires_grad_()
    torch.library.opcheck(torch.ops.samite.softmax.default, (x,))
    torch.library.opcheck(torch.ops.samite.matmul.default, (x, numbers(8, 4), None, None, "relu", torch.float32, False))
    q = numbers(1, 1, 4, 8).requires_grad_()
    torch.library.opcheck(torch.ops.samite.attention.default, (q, q, q, True, 0.5))


def test_compiled_without_a_graph_break():
    def network(x, w):
        h = samite.torch.matmul(x, w, activation="gelu")
        return samite.torch.layer_norm(samite.torch.softmax(h)).sum()

    x, w = numbers(6, 8).requires_grad_(), numbers(8, 8).requires_grad_()
    expected = torch.autograd.grad(network(x, w), (x, w))
    compiled = torch.compile(network, fullgraph=True, backend="aot_eager")
    for actual, each in zip(torch.autograd.grad(compiled(x, w), (x, w)), expected):
        assert torch.allclose(actual, each)


def test_under_vmap():
    x = numbers(3, 4, 5)
    assert torch.allclose(torch.func.vmap(samite.torch.softmax)(x), x.softmax(-1))
    b = numbers(5, 6)
    product = torch.func.vmap(samite.torch.matmul, in_dims=(0, None))(x, b)
    assert torch.allclose(product, x @ b, atol=1e-5)
