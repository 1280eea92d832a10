"""Tensors of torch, and kernels as its functions."""

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

import samite  # noqa: E402
import samite.torch  # noqa: E402
import samite_test_kernels as kernels  # noqa: E402

TYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64",
]  # fmt: skip

multiply = samite.torch.function(kernels.multiply, outputs={"z": "x"})
diffuse = samite.torch.function(kernels.diffuse, outputs={"next": "now"})
axpy = samite.torch.function(kernels.axpy)
total = samite.torch.function(kernels.total, outputs={"sum": (1,)}, extents="values")


pytestmark = pytest.mark.usefixtures("torch_on")


@pytest.fixture
def doubles(device):
    return lambda *shape: torch.rand(*shape, dtype=torch.float64, device=device, requires_grad=True)


def gradcheck(function, *arguments, twice=False):
    # On a GPU sums are not always added up in the same order.
    assert torch.autograd.gradcheck(function, arguments, nondet_tol=1e-12)
    if twice:
        assert torch.autograd.gradgradcheck(function, arguments, nondet_tol=1e-12)


@pytest.mark.parametrize("name", TYPES)
def test_tensors_of_every_type(name, device):
    source = torch.arange(12, device=device).reshape(3, 4).to(getattr(torch, name))
    to = torch.zeros(3, 4, device=device).to(source.dtype)
    getattr(kernels, f"copy_{name}")(to, source)
    assert torch.equal(to.to(torch.float64), source.to(torch.float64))


def test_tensors_with_strides(device):
    whole = torch.zeros(6, 8, dtype=torch.float64, device=device)
    source = torch.rand(4, 3, dtype=torch.float64, device=device)
    kernels.copy_float64(whole[::2, ::2], source.t())
    assert torch.equal(whole[::2, ::2], source.t())


def test_a_tensor_that_requires_a_gradient_is_refused_in_a_plain_call(doubles, device):
    y, x = doubles(3), torch.ones(3, dtype=torch.float64, device=device)
    with pytest.raises(samite.UserError, match="argument 'y' is a tensor that requires a gradient"):
        kernels.axpy(y, x, 1.0)
    with torch.no_grad():
        kernels.axpy(y, x, 1.0)
    with pytest.raises(samite.UserError, match="argument 'a' expects a number.*no"):
        kernels.axpy(y.detach(), x, torch.tensor(1.0, requires_grad=True))


def test_gradients(doubles):
    x, y = doubles(5), doubles(5)
    gradcheck(multiply, x, y)
    gradcheck(lambda y, x: axpy(y, x, a=2.5), x, y)
    gradcheck(total, x)


def test_the_gradient_of_an_array_that_is_only_added_to(doubles):
    add = samite.torch.function(kernels.total, extents="values")
    gradcheck(add, doubles(1), doubles(5))


def test_gradients_of_gradients(doubles):
    gradcheck(multiply, doubles(4), doubles(4) + 1, twice=True)
    gradcheck(total, doubles(4), twice=True)


def test_a_function_changes_no_argument(doubles):
    y, x = doubles(3), doubles(3)
    before = y.detach().clone()
    z = axpy(y, x, 2.0)
    assert torch.equal(y, before) and torch.equal(z, y + 2 * x)


def test_gradients_of_some_arguments(doubles):
    x, y = doubles(5), doubles(5).detach()
    multiply(x, y).sum().backward()
    assert torch.allclose(x.grad, 2 * x * y.sin())
    x = x.detach()
    y.requires_grad_()
    multiply(x, y).sum().backward()
    assert torch.allclose(y.grad, x * x * y.cos())


def test_adjoints_are_compiled_when_a_backward_pass_asks(doubles):
    function = samite.torch.function(kernels.multiply, outputs={"z": "x"})
    z = function(doubles(5), doubles(5))
    assert not function.operation.adjoints
    z.sum().backward()
    assert len(function.operation.adjoints) == 1


def test_graphs_that_torch_kept_call_no_other_kernel(tmp_path, device):
    # A graph that is kept on disk names its ops, and those of another process are made in another order.
    script = """
import sys, torch, samite.torch, samite_test_kernels as kernels
multiply = samite.torch.function(kernels.multiply, outputs={"z": "x"})
if sys.argv[1] == "another first":
    diffuse = samite.torch.function(kernels.diffuse, outputs={"next": "now"})
    diffuse(torch.rand(8, 8, requires_grad=True, device=sys.argv[2]), rate=0.2).sum().backward()
x, y = (torch.linspace(0, 1, 48, dtype=torch.float64, device=sys.argv[2]).requires_grad_() for _ in range(2))
compiled = torch.compile(lambda x, y: multiply(x, y).cos().sum(), fullgraph=True)
gradients = torch.autograd.grad(compiled(x, y), (x, y))  # before a pass that is not compiled makes the adjoint's op
for actual, expected in zip(gradients, torch.autograd.grad(multiply(x, y).cos().sum(), (x, y))):
    assert torch.allclose(actual, expected)
"""
    environment = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=str(tmp_path))
    for order in ("another first", "alone"):
        subprocess.run([sys.executable, "-c", script, order, str(device)], env=environment, check=True)


def test_torch_compile_has_no_graph_break(device):
    now = torch.rand(8, 8, requires_grad=True, device=device)

    def loss(now):
        return diffuse(diffuse(now, rate=0.2), rate=0.1).square().mean()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    expected = torch.autograd.grad(loss(now), now)[0]
    assert torch.allclose(torch.autograd.grad(compiled(now), now)[0], expected)


def test_ops_keep_the_rules_of_torch(doubles):
    torch.library.opcheck(multiply.op, ([5], doubles(5), doubles(5), [5]))
    torch.library.opcheck(axpy.op, (doubles(5), doubles(5), 2.0, [5]))


def test_vmap(doubles):
    x, y = doubles(3, 5).detach(), doubles(5).detach()
    assert torch.allclose(torch.func.vmap(multiply, (0, None))(x, y), x * y.sin() * x)


def test_training(device):
    target, now = torch.rand(8, 8, device=device), torch.zeros(8, 8, requires_grad=True, device=device)
    optimizer = torch.optim.Adam([now], lr=0.1)
    losses = []
    for _ in range(50):
        optimizer.zero_grad()
        loss = (diffuse(now, rate=0.1) - target)[1:-1, 1:-1].square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10


def test_bad_input(doubles, device):
    x, rows = doubles(3), torch.zeros(2, 64, device=device)
    for call, message in [
        (lambda: multiply(x, x.float()), "argument 'y' expects a tensor of torch.float64 with 1 dimensions"),
        (lambda: multiply(x, x[None]), r"shape \(1, 3\) is given"),
        (lambda: multiply(x, [1.0]), "list is given"),
        (lambda: axpy(x, x, a=x.sum()), "argument 'a' is a number, which has no gradient"),
        (lambda: samite.torch.function(kernels.multiply, outputs={"x": "y"}), "outputs expects names of arrays"),
        (lambda: samite.torch.function(kernels.exponential_rows)(rows, rows), "extents is missing"),
    ]:
        with pytest.raises(samite.UserError, match=message):
            call()
    for call, message in [
        (lambda: multiply(x), "argument 'y' is missing"),
        (lambda: multiply(x, x, x), "takes 2 arguments; 3 are given"),
        (lambda: multiply(x, x, y=x), "given twice"),
        (lambda: multiply(x, x, w=x), "no argument 'w'"),
        (lambda: samite.torch.function(abs), "expects a kernel"),
    ]:
        with pytest.raises(TypeError, match=message):
            call()
