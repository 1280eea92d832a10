"""Kernels as functions of JAX: under jit, vmap and grad, and what is refused."""

import functools

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402
import samite  # noqa: E402
import samite.jax  # noqa: E402
import samite_test_kernels as kernels  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

jax.config.update("jax_enable_x64", True)
# On the device that JAX prefers: `JAX_PLATFORMS=cuda pytest test_jax.py` runs all of it on a GPU.
ON_CUDA = jax.default_backend() == "gpu"

diffuse = samite.jax.function(kernels.diffuse, outputs={"next": "now"}, extents="now")
multiply = samite.jax.function(kernels.multiply, outputs={"z": "x"}, extents="x")
axpy = samite.jax.function(kernels.axpy, extents="y")
total = samite.jax.function(kernels.total, outputs={"sum": (1,)}, extents="values")


def diffused(now, rate):
    inner = now[1:-1, 1:-1]
    neighbours = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
    return jnp.zeros_like(now).at[1:-1, 1:-1].set(inner + jnp.float32(rate) * (neighbours - 4 * inner))


def field(*shape, dtype=np.float32):
    return jnp.asarray(np.random.default_rng(0).random(shape), dtype)


def close(a, b, rtol=1e-6):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-6)


def message(call, kind=samite.UserError):
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


def test_a_function_returns_new_arrays():
    now = field(6, 8)
    next = diffuse(now, rate=0.2)
    assert isinstance(next, jax.Array)
    close(next, diffused(now, 0.2))
    close(diffuse(np.asarray(now), 0.1), diffused(now, 0.1))


@pytest.mark.parametrize("name", sorted({"int8", "uint16", "int32", "int64", "bool", "float16", "bfloat16", "float64"}))
def test_each_type_of_elements(name):
    copy = samite.jax.function(getattr(kernels, "copy_" + name), outputs={"to": "from"}, extents="from")
    values = jnp.asarray([[0, 1, 1], [1, 0, 1]], name)
    made = copy(values)
    assert made.dtype == values.dtype and (made == values).all()


def test_what_a_kernel_changes_is_returned_and_the_argument_is_not():
    y, x = field(5, dtype=float), field(5, dtype=float) + 1
    before = np.asarray(y).copy()
    made = axpy(y, x, 2.0)
    close(made, before + 2 * np.asarray(x))
    close(y, before)

    @functools.partial(jax.jit, donate_argnums=0)
    def many(y, x):
        return jax.lax.fori_loop(0, 10, lambda _, y: axpy(y, x, 1.0), y)

    close(many(y, x), before + 10 * np.asarray(x))


def test_equal_arguments_are_apart_from_what_is_written():
    shift = samite.jax.function(kernels.gather, extents=(4,))  # out(i) = in(rows(i)), which is not in place
    values, rows = jnp.arange(5.0), jnp.asarray([4, 0, 1, 2])
    made = jax.jit(lambda values: shift(values, values, rows))(values)
    close(made, [4, 0, 1, 2, 4])
    close(values, np.arange(5.0))


def test_under_jit_with_numbers_that_are_traced():
    now = field(6, 8)
    step = jax.jit(lambda now, rate: diffuse(diffuse(now, rate), 0.1))
    if ON_CUDA:
        with pytest.raises(jax.errors.JaxRuntimeError, match="the number 'rate' is computed by JAX"):
            step(now, 0.2).block_until_ready()
        return
    close(step(now, 0.2), diffused(diffused(now, 0.2), 0.1), rtol=1e-5)
    close(step(now, 0.3), diffused(diffused(now, 0.3), 0.1), rtol=1e-5)

    by = jax.jit(lambda places, y: samite.jax.function(kernels.move, extents=(4,))(places, (1.0, y, 3.0)))
    close(by(jnp.zeros((4, 3), jnp.float32), 2.0), np.tile([1, 2, 3], (4, 1)))


def test_a_gradient_is_the_adjoints():
    x, y = field(5, dtype=float), field(5, dtype=float)
    loss = lambda x, y: (multiply(x, y) ** 2).sum()  # noqa: E731
    by_x, by_y = jax.grad(loss, (0, 1))(x, y)
    close(by_x, 4 * x**3 * jnp.sin(y) ** 2)
    close(by_y, 2 * x**4 * jnp.sin(y) * jnp.cos(y))
    close(jax.jit(jax.grad(loss))(x, y), by_x)
    check_grads(multiply, (x, y), order=2, modes=["rev"])


def test_gradients_of_arrays_that_are_changed_and_added_to():
    y, x = field(5, dtype=float), field(5, dtype=float)
    loss = lambda y, x: (axpy(y, x, 3.0) ** 2).sum()  # noqa: E731
    by_y, by_x = jax.grad(loss, (0, 1))(y, x)
    close(by_y, 2 * (y + 3 * x))
    close(by_x, 6 * (y + 3 * x))
    close(jax.grad(lambda x: total(x)[0])(x), 2 * x)


def test_a_gradient_through_a_simulation():
    now = field(6, 8)

    def loss(step, now):
        return (jax.lax.fori_loop(0, 4, lambda _, now: step(now, 0.2), now) ** 2).sum()

    through = lambda step: jax.jit(jax.grad(functools.partial(scanned, step)))(now)  # noqa: E731

    def scanned(step, now):
        return (jax.lax.scan(lambda now, _: (step(now, 0.2), None), now, None, length=4)[0] ** 2).sum()

    close(loss(diffuse, now), loss(diffused, now), rtol=1e-5)
    close(through(diffuse), through(diffused), rtol=1e-4)


def test_integers_have_no_gradient():
    gather = samite.jax.function(kernels.gather, outputs={"out": "rows"}, extents="rows")
    values, rows = field(5, dtype=float), jnp.asarray([4, 4, 0])
    close(gather(values, rows), values[rows])
    close(jax.grad(lambda values: gather(values, rows).sum())(values), [1, 0, 0, 0, 2])


def test_vmap_launches_once_for_each():
    many = field(3, 6, 8)
    close(jax.vmap(lambda now: diffuse(now, 0.2))(many), jnp.stack([diffused(now, 0.2) for now in many]))
    x, y = field(3, 5, dtype=float), field(5, dtype=float)
    by_y = jax.vmap(jax.grad(lambda y, x: multiply(x, y).sum()), (None, 0))(y, x)
    close(by_y, x**2 * jnp.cos(y))
    shared = jax.grad(lambda y: jax.vmap(multiply, (0, None))(x, y).sum())(y)
    close(shared, (x**2 * jnp.cos(y)).sum(0))


def test_forward_mode_is_refused():
    x = field(5, dtype=float)
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(multiply, (x, x), (x, x))


def test_a_tile_kernel():
    rows = field(5, 64)
    exponential = samite.jax.function(kernels.exponential_rows, outputs={"out": "in"}, extents=(5,))
    close(exponential(rows), jnp.exp(rows), rtol=1e-5)


def test_extents_are_never_guessed():
    step = samite.jax.function(kernels.diffuse, outputs={"next": "now"})
    now = field(6, 8)
    assert "extents is missing" in message(lambda: step(now, 0.2))
    close(step(now, 0.2, extents=(6, 8)), diffused(now, 0.2))
    close(step(now, 0.2, extents=lambda given: given["now"].shape), diffused(now, 0.2))
    assert "the launch expects 2 extents; (6,) is given" in message(lambda: step(now, 0.2, extents=(6,)))
    assert "the launch expects 2 extents" in message(lambda: step(now, 0.2, extents=(6, -1)))
    assert "shape of 'rate', which is no array" in message(lambda: step(now, 0.2, extents="rate"))
    traced = jax.jit(lambda now, rows: step(now, 0.2, extents=(rows, 8)))
    assert "integers that are known when JAX traces" in message(lambda: traced(now, 6))


def test_wrong_arguments_are_refused_when_they_are_traced():
    now = field(6, 8)
    text = message(lambda: jax.jit(diffuse)(now.astype(float), 0.1))
    assert "diffuse(): argument 'now' expects an array of float32 with 2 dimensions" in text
    assert "one of float64 with shape (6, 8)" in text and "test_jax.py:" in text.splitlines()[-1]
    assert "one of float32 with shape (6,)" in message(lambda: diffuse(now[:, 0], 0.1))
    assert "list is given" in message(lambda: diffuse([[1.0]], 0.1))
    assert "'rate' expects a number" in message(lambda: diffuse(now, "fast"))
    assert "does not fit" in message(lambda: diffuse(now, 1e300))
    assert "'rate' expects a number" in message(lambda: jax.jit(diffuse)(now, now))
    assert "is missing" in message(lambda: diffuse(now), TypeError)
    assert "given twice" in message(lambda: diffuse(now, 0.1, now=now), TypeError)
    assert "no argument 'next'" in message(lambda: diffuse(now, 0.1, next=now), TypeError)
    assert "takes 2 arguments" in message(lambda: diffuse(now, 0.1, 1), TypeError)
    assert "which has no gradient" in message(lambda: jax.grad(lambda rate: diffuse(now, rate).sum())(0.1))
    assert "that the kernel writes" in message(lambda: samite.jax.function(kernels.diffuse, outputs={"now": "next"}))
    assert "writes no array" in message(lambda: samite.jax.function(kernels.tell))
    assert "expects a kernel" in message(lambda: samite.jax.function(len), TypeError)


def test_64_bits_are_refused_with_a_hint_where_jax_has_none():
    x = np.ones(3)
    jax.config.update("jax_enable_x64", False)
    try:
        assert "jax_enable_x64" in message(lambda: multiply(x, x))
        assert "jax_enable_x64" in message(lambda: multiply(jnp.asarray(x), jnp.asarray(x)))
    finally:
        jax.config.update("jax_enable_x64", True)


def test_errors_of_a_launch_have_the_kernels_words():
    gather = samite.jax.function(kernels.gather, outputs={"out": "rows"}, extents="rows", debug=True)
    values, rows = field(5, dtype=float), jnp.asarray([4, 5, 0])
    with pytest.raises(jax.errors.JaxRuntimeError) as error:
        jax.jit(gather)(values, rows).block_until_ready()
    assert "INVALID_ARGUMENT" in str(error.value) and "kernels.cpp" in str(error.value)
    close(gather(values, jnp.asarray([4, 0, 1])), values[jnp.asarray([4, 0, 1])])
