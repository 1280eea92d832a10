"""Kernels of an archive: called, and as functions of torch and JAX, where there is no compiler."""

import os
import subprocess
import sys

import numpy as np
import pytest
import samite
import samite.aot

RECORDING = """
import numpy as np, samite_test_kernels as kernels
x = np.zeros(8)
kernels.multiply(np.zeros(8), x, x.copy())
kernels.axpy(np.zeros(8), x, a=1.0)
kernels.total(np.zeros(1), x, extents=8)
kernels.count_up(np.zeros(8, np.int32), 0, 1, False)
"""

USING = """
import numpy as np, sys, samite.aot
kernels = samite.aot.open(sys.argv[1])
x, y, z = np.arange(4.0), np.ones(4), np.zeros(4)
kernels.multiply(z, x, y, extents=4)
assert np.allclose(z, x * x * np.sin(1)), z
gx = np.zeros(4)
kernels.multiply.adjoint("z", "x")(z, x, y, np.ones(4), gx, extents=4)
assert np.allclose(gx, 2 * x * np.sin(1)), gx
"""


def run(program, *arguments, **variables):
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=os.environ | variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("archive") / "kernels.samite")
    run(
        RECORDING,
        SAMITE_AOT_RECORD=path,
        SAMITE_AOT_TARGETS="x86-64-v2",
        SAMITE_AOT_ADJOINTS="multiply(z,x) multiply(z,x,y) axpy(y,x)",
    )
    return path


@pytest.fixture(scope="module")
def kernels(path):
    return samite.aot.open(path)


def message(call, kind=samite.UserError):
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


def test_an_archive_tells_its_kernels(kernels, path):
    assert sorted(kernels) == ["axpy", "count_up", "multiply", "total"] and len(kernels) == 4
    assert repr(kernels) == f"<samite.aot.Archive {path}: axpy, count_up, multiply, total>"
    assert [each.name for each in kernels.axpy.parameters] == ["y", "x", "a"]
    assert [each.is_written for each in kernels.axpy.parameters] == [True, False, False]
    assert repr(kernels.axpy) == "<samite.aot.Kernel axpy(y: float64[:], x: float64[:], a: float64)>"
    assert "has no kernel 'absent'; it has axpy, count_up, multiply, total" in message(
        lambda: kernels.absent, AttributeError
    )


def test_no_compiler_and_no_cache_are_needed(path):
    run(USING, path, SAMITE_CLANG_PLUGIN="/nowhere", SAMITE_CACHE_LIMIT_MB="0", SAMITE_CUDA_PATH="/nowhere")


def test_a_call_is_that_of_the_kernel(kernels):
    y, x = np.ones(5), np.arange(5.0)
    kernels.axpy(y, x, a=3, extents=(5,))
    assert (y == 1 + 3 * x).all()
    values = np.zeros(4, np.int32)
    kernels.count_up(values, first=7, step=-(2**40) + 3, reversed=True, extents=4)
    assert (values == 7 - 3 * np.arange(4)).all()


def test_arguments_that_do_not_fit_are_refused(kernels):
    y, x = np.ones(5), np.arange(5.0)
    assert "takes 3 arguments; 4 are given" in message(lambda: kernels.axpy(y, x, 1, 2, extents=5), TypeError)
    assert "argument 'a' is missing" in message(lambda: kernels.axpy(y, x, extents=5), TypeError)
    assert "has no argument 'b'" in message(lambda: kernels.axpy(y, x, 1, b=1, extents=5), TypeError)
    assert "extents expects 1 sizes; (5, 5) is given" in message(lambda: kernels.axpy(y, x, 1, extents=(5, 5)))
    assert "expects a number, as a float64; 'one' is given" in message(lambda: kernels.axpy(y, x, "one", extents=5))
    assert "('x') is an array of f64" in message(lambda: kernels.axpy(y, x.astype(np.float32), 1, extents=5))
    assert "expects an array" in message(lambda: kernels.axpy(y, 3, 1, extents=5))
    y.flags.writeable = False
    assert "which is read-only" in message(lambda: kernels.axpy(y, x, 1, extents=5))
    values = np.zeros(4, np.int32)
    assert "not between" in message(lambda: kernels.count_up(values, 2**40, 1, True, extents=4))
    assert "give True or False" in message(lambda: kernels.count_up(values, 1, 1, 1, extents=4))


def test_an_adjoint_that_is_not_there_is_refused(kernels):
    assert "ADJOINTS total(sum,values) in samite_add_kernels()" in message(
        lambda: kernels.total.adjoint("sum", "values")
    )
    assert "they have (z,x), (z,x,y)" in message(lambda: kernels.multiply.adjoint("z"))
    assert kernels.multiply.active_for(["z", "y"]) == ("z", "x", "y")


def test_a_damaged_archive_is_refused(path, tmp_path):
    with open(path, "rb") as file:
        content = file.read()
    short = tmp_path / "short.samite"
    short.write_bytes(content[:-100])
    assert "cut short" in message(lambda: samite.aot.open(short))
    assert "absent.samite" in message(lambda: samite.aot.open(tmp_path / "absent.samite"))


def test_a_function_of_torch(kernels):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import samite.torch

    multiply = samite.torch.function(kernels.multiply, outputs={"z": "x"}, extents="x")
    x = torch.arange(4.0, dtype=torch.float64, requires_grad=True)
    y = torch.linspace(0, 1, 4, dtype=torch.float64, requires_grad=True)
    z = multiply(x, y)
    assert torch.allclose(z, x * x * y.sin())
    z.sum().backward()
    assert torch.allclose(x.grad, 2 * x * y.sin()) and torch.allclose(y.grad, x * x * y.cos())
    # An archive has adjoints for sets of arrays: the smallest that has all that is asked for.
    x.grad = None
    multiply(x, y.detach()).square().sum().backward()
    assert torch.allclose(x.grad, 4 * x**3 * y.sin() ** 2)
    y.grad = None
    multiply(x.detach()[::2], y[::2]).sum().backward()
    assert torch.allclose(y.grad, torch.stack([x[0], y[0] * 0, x[2], y[0] * 0]) ** 2 * y.cos())
    axpy = samite.torch.function(kernels.axpy, extents="y")
    assert torch.allclose(axpy(x, y, 2.0), x + 2 * y)
    assert torch.autograd.gradcheck(lambda x, y: axpy(x, y, 2.0), (x, y))
    total = samite.torch.function(kernels.total, outputs={"sum": (1,)}, extents="values")
    assert "have no adjoint for (sum,values); they have none" in message(lambda: total(x).backward())
    assert "extents is missing" in message(lambda: samite.torch.function(kernels.axpy)(x, y, 2.0))


def test_a_function_of_jax(kernels):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    import jax.numpy as jnp
    import samite.jax

    jax.config.update("jax_enable_x64", True)
    multiply = samite.jax.function(kernels.multiply, outputs={"z": "x"}, extents="x")
    x, y = jnp.arange(4.0), jnp.linspace(0, 1, 4)
    assert jnp.allclose(jax.jit(multiply)(x, y), x * x * jnp.sin(y))
    loss = lambda x, y: multiply(x, y).sum()  # noqa: E731
    assert jnp.allclose(jax.jit(jax.grad(loss))(x, y), 2 * x * jnp.sin(y))
    gx, gy = jax.grad(loss, (0, 1))(x, y)
    assert jnp.allclose(gx, 2 * x * jnp.sin(y)) and jnp.allclose(gy, x * x * jnp.cos(y))
    axpy = samite.jax.function(kernels.axpy, extents="y")
    assert jnp.allclose(jax.jit(axpy)(y, x, 2.5), y + 2.5 * x)
    gradient = jax.grad(lambda y, x: (axpy(y, x, 2.5) ** 2).sum(), 1)(y, x)
    assert jnp.allclose(gradient, 5 * (y + 2.5 * x))
    total = samite.jax.function(kernels.total, outputs={"sum": (1,)}, extents="values")
    assert "have no adjoint for (sum,values)" in message(lambda: jax.grad(lambda x: total(x)[0])(x))
    assert "run as they were compiled" in message(lambda: samite.jax.function(kernels.axpy, debug=True))
