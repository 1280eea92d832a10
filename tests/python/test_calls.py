"""Calls, recorded launches, adjoints and reports."""

import json
import threading
import time

import numpy as np
import pytest
import samite
import samite_test_kernels as kernels


def diffused(now, rate):
    """One step of the heat equation, as NumPy and CuPy have it."""
    next = 0 * now
    inner = now[1:-1, 1:-1]
    neighbours = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
    next[1:-1, 1:-1] = inner + np.float32(rate) * (neighbours - 4 * inner)
    return next


def field(xp=np, rows=16, columns=24):
    return xp.asarray(np.random.default_rng(0).random((rows, columns), np.float32))


def test_a_call_by_position_and_by_name(xp):
    now, next = field(xp), xp.zeros((16, 24), np.float32)
    kernels.diffuse(next, now, rate=0.2, extents=(16, 24))
    xp.testing.assert_allclose(next, diffused(now, 0.2), rtol=1e-6)
    kernels.diffuse(rate=0.1, now=now, next=next)
    xp.testing.assert_allclose(next, diffused(now, 0.1), rtol=1e-6)


def test_calls_with_other_arrays_take_turns(xp):
    arrays = [field(xp) for _ in range(12)]
    for _ in range(3):
        for now in arrays:
            next = xp.zeros_like(now)
            kernels.diffuse(next, now, 0.2)
            xp.testing.assert_allclose(next, diffused(now, 0.2), rtol=1e-6)


def test_extents_of_fewer_indices(xp):
    values = xp.zeros(8, np.int32)
    kernels.count_up(values, 1, 1, False, extents=3)
    assert list(values) == [1, 2, 3, 0, 0, 0, 0, 0]


def test_extents_of_an_array_of_structs(xp):
    positions = xp.zeros((5, 3), np.float32)
    kernels.move(positions, (1, 2, 3))
    assert positions.tolist() == [[1, 2, 3]] * 5


def test_a_recorded_launch_is_launched_and_edited(xp):
    now, next = field(xp), xp.zeros((16, 24), np.float32)
    step = kernels.diffuse.record(next, now, rate=0.2)
    for _ in range(2):
        step()
    xp.testing.assert_allclose(next, diffused(now, 0.2), rtol=1e-6)
    step.set(rate=0.1)
    step()
    xp.testing.assert_allclose(next, diffused(now, 0.1), rtol=1e-6)
    other = xp.zeros_like(next)
    step.set(next=other, extents=(8, 24))
    step()
    xp.testing.assert_allclose(other[:8], diffused(now, 0.1)[:8], rtol=1e-6)
    assert step.extents == (8, 24) and not other[8:].any()


def test_a_recorded_launch_keeps_its_arrays(xp):
    now = field(xp)
    next = xp.zeros_like(now)
    step = kernels.diffuse.record(next, now.copy(), 0.2)
    step()
    xp.testing.assert_allclose(next, diffused(now, 0.2), rtol=1e-6)


def test_an_adjoint_is_a_kernel(xp):
    x, y = xp.linspace(0.1, 1, 5), xp.linspace(1, 2, 5)
    adjoint = kernels.multiply.adjoint("z", "x", "y")
    assert [each[0] for each in adjoint.parameters] == ["z", "x", "y", "z_gradient", "x_gradient", "y_gradient"]
    z_bar, x_bar, y_bar = xp.ones(5), xp.zeros(5), xp.zeros(5)
    adjoint(xp.zeros(5), x, y, z_bar, x_bar, y_bar, extents=5)
    xp.testing.assert_allclose(x_bar, 2 * x * xp.sin(y))
    xp.testing.assert_allclose(y_bar, x * x * xp.cos(y))


def test_an_adjoint_of_an_adjoint(xp):
    x, y = xp.linspace(0.1, 1, 5), xp.linspace(1, 2, 5)
    second = kernels.multiply.adjoint("z", "x").adjoint("x_gradient", "x")
    given = {name: xp.zeros(5) for name, *_ in second.parameters}
    given |= {"x": x, "y": y, "z_gradient": xp.ones(5), "x_gradient_gradient": xp.ones(5)}
    second(**given, extents=5)
    xp.testing.assert_allclose(given["x_gradient_2"], 2 * xp.sin(y))


def test_a_tangent_is_a_kernel(xp):
    x, y = xp.linspace(0.1, 1, 5), xp.linspace(1, 2, 5)
    z, z_dot = xp.zeros(5), xp.zeros(5)
    kernels.multiply.tangent("z", "x")(z, x, y, z_dot, xp.ones(5), extents=5)
    xp.testing.assert_allclose(z_dot, 2 * x * xp.sin(y))


def test_nothing_but_what_is_called_is_compiled(xp):
    before = kernels.gather.report().variants
    adjoint = kernels.gather.adjoint()
    assert kernels.gather.report().variants == before and adjoint.report().variants == 0
    kernels.gather(xp.zeros(3), xp.arange(5.0), xp.array([4, 0, 2]))
    assert kernels.gather.report().variants == before + 1


def test_a_report_has_what_was_compiled(xp):
    kernels.axpy(xp.zeros(3), xp.zeros(3), 1.0)
    report = kernels.axpy.report()
    assert "axpy" in str(report)
    assert json.loads(report.json())["kernel"] == "axpy"


def test_a_kernel_says_what_it_is():
    assert kernels.diffuse.name == "diffuse"
    assert "next: float32[:, :]" in repr(kernels.diffuse) and "rate: float32" in repr(kernels.diffuse)
    assert kernels.diffuse.documentation == "One step of the heat equation."
    assert kernels.diffuse.parameters[0] == ("next", "float32", 2, True, 1, False)
    assert kernels.diffuse.parameters[1] == ("now", "float32", 2, False, 1, True)
    assert kernels.diffuse.parameters[2] == ("rate", "float32", 0, False, 1, False)
    assert kernels.exponential_rows.is_tile_kernel and kernels.exponential_rows.launch_rank == 1


@pytest.mark.parametrize(
    "kernel, outputs, in_place",
    [
        (kernels.diffuse, ["next"], []),
        (kernels.axpy, [], ["y"]),  # y(i) = y(i) + …
        (kernels.total, [], ["sum"]),  # which is added to
        (kernels.move, [], ["positions"]),
        (kernels.exponential_rows, ["out"], []),
    ],
)
def test_a_kernel_says_which_arrays_are_outputs_and_which_it_changes(kernel, outputs, in_place):
    written = [each for each in kernel.parameters if each.is_written]
    assert [each.name for each in written if not each.is_read] == outputs
    assert [each.name for each in written if each.is_read] == in_place


def test_a_tile_kernel(xp):
    values = xp.asarray(np.random.default_rng(0).random((5, 64), np.float32))
    out = xp.zeros_like(values)
    kernels.exponential_rows(out, values, extents=5)
    xp.testing.assert_allclose(out, xp.exp(values), rtol=1e-5)


def test_debug_mode_names_the_access(xp):
    with pytest.raises(samite.UserError) as error:
        kernels.gather(xp.zeros(3), xp.arange(5.0), xp.array([4, 5, 2]), debug=True)
    assert "kernels.cpp" in str(error.value) and "5" in str(error.value)
    assert not samite.debug_mode()
    samite.set_debug_mode(True)
    try:
        with pytest.raises(samite.UserError):
            kernels.gather(xp.zeros(3), xp.arange(5.0), xp.array([4, 5, 2]))
    finally:
        samite.set_debug_mode(False)


def seconds(calls):
    begin = time.perf_counter()
    calls()
    return time.perf_counter() - begin


def test_other_threads_run_while_a_kernel_does():
    values = np.zeros(1)
    kernels.spin(values, 1)
    rounds = 1 << 20
    while seconds(lambda: kernels.spin(values, rounds)) < 0.3:
        rounds *= 2
    thread = threading.Thread(target=lambda: kernels.spin(values, rounds))
    thread.start()
    counted = 0
    while thread.is_alive():
        counted += 1
    assert counted > 1000


def test_threads_that_call_one_kernel_with_the_same_arrays(xp):
    x, ys = xp.ones(4), [xp.zeros(4) for _ in range(4)]
    shared = xp.zeros(4)

    def call(y):
        for _ in range(200):
            kernels.axpy(y, x, 1.0)
            kernels.copy_float64(shared.reshape(2, 2), x.reshape(2, 2))

    threads = [threading.Thread(target=call, args=(y,)) for y in ys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((y == 200).all() for y in ys) and (shared == 1).all()


def test_devices():
    assert samite.devices()[-1] == "cpu"
    samite.synchronize()
