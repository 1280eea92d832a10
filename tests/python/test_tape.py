"""Tapes: gradients through several calls, and what is refused."""

import threading

import numpy as np
import pytest
import samite
import samite_test_kernels as kernels


def message(call, kind=samite.UserError):
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


def test_gradients_through_several_calls(xp):
    x, y, z, loss = xp.linspace(0.1, 1, 5), xp.linspace(1, 2, 5), xp.zeros(5), xp.zeros(1)
    with samite.Tape() as tape:
        kernels.multiply(z, x, y)  # z = x² sin y
        kernels.axpy(z, x, 3.0)  # z += 3 x
        kernels.total(loss, z, extents=5)  # loss = Σ z²
    assert len(tape) == 3 and "multiply" in str(tape)
    xp.testing.assert_allclose(loss[0], (z**2).sum())
    tape.backward(loss)
    xp.testing.assert_allclose(tape.gradient(x), 2 * z * (2 * x * xp.sin(y) + 3))
    xp.testing.assert_allclose(tape.gradient(y), 2 * z * x**2 * xp.cos(y))
    assert type(tape.gradient(x)) is type(x)
    out = xp.zeros(5)
    assert tape.gradient(x, out=out) is out and out.any()

    tape.backward(loss)  # which adds to what is read alone
    xp.testing.assert_allclose(tape.gradient(y), 4 * z * x**2 * xp.cos(y))
    tape.zero_gradients()
    assert not tape.gradient(y).any()
    tape.clear()
    assert len(tape) == 0
    assert "no launch on the tape uses" in message(lambda: tape.gradient(x))


def test_values_that_a_later_call_overwrites_are_kept(xp):
    now, next = xp.linspace(0.1, 1, 5), xp.zeros(5)
    first = now.copy()
    with samite.Tape() as tape:
        for _ in range(3):
            kernels.multiply(next, now, now)  # next = now² sin now
            kernels.axpy(now, next, 0.1)
    assert tape.kept_bytes > 0
    tape.backward(now, xp.ones(5))

    def run(value):
        for _ in range(3):
            value = value + 0.1 * value**2 * xp.sin(value)
        return value

    small = 1e-6
    xp.testing.assert_allclose(tape.gradient(now), (run(first + small) - run(first - small)) / (2 * small), rtol=1e-6)

    with samite.Tape(keep_values=False) as tape:
        kernels.multiply(next, now, now)
        kernels.axpy(now, next, 0.1)
    assert "overwr" in message(lambda: tape.backward(now, xp.ones(5)))


def test_several_objectives_with_cotangents(xp):
    x, y, z, w = xp.linspace(0.1, 1, 5), xp.linspace(1, 2, 5), xp.zeros(5), xp.zeros(5)
    with samite.Tape() as tape:
        kernels.multiply(z, x, y)
        kernels.axpy(w, x, 2.0)
    tape.backward([(z, xp.ones(5)), (w, 10 * xp.ones(5))])
    xp.testing.assert_allclose(tape.gradient(x), 2 * x * xp.sin(y) + 20)


def test_constants_have_no_gradient(xp):
    x, y, z = xp.linspace(0.1, 1, 5), xp.linspace(1, 2, 5), xp.zeros(5)
    tape = samite.Tape()
    tape.constant(y)
    with tape:
        kernels.multiply(z, x, y)
    tape.backward(z, xp.ones(5))
    xp.testing.assert_allclose(tape.gradient(x), 2 * x * xp.sin(y))
    assert "has no gradient" in message(lambda: tape.gradient(y))
    assert "used by a launch on the tape already" in message(lambda: tape.constant(x))


def test_recorded_launches_and_ready_operations_are_on_the_tape(xp):
    x, z = xp.linspace(0.1, 1, 5), xp.zeros(5)
    step = kernels.axpy.record(z, x, 1.0)
    step.set(a=4.0)
    a, b = xp.ones((4, 8), np.float32), xp.full((8, 6), 2, np.float32)
    with samite.Tape() as tape:
        step()
        product = samite.matmul(a, b)
    assert len(tape) == 2
    tape.backward([(z, xp.ones(5)), (product, xp.ones((4, 6), np.float32))])
    xp.testing.assert_allclose(tape.gradient(x), 4 * xp.ones(5))
    xp.testing.assert_allclose(tape.gradient(a), 12 * xp.ones((4, 8)))


def test_the_tape_keeps_arrays():
    with samite.Tape() as tape:
        z = np.zeros(1 << 20)
        kernels.multiply(z, np.ones(1 << 20), z.copy())
        del z
        z = np.zeros(1 << 20)
        kernels.axpy(z, np.full(1 << 20, 3.0), 2.0)
    tape.backward(z, np.ones(1 << 20))
    assert (tape.gradient(z) == 1).all()


def test_what_is_refused():
    x, z = np.linspace(0.1, 1, 6), np.zeros(6)
    tape = samite.Tape()
    with tape:
        kernels.axpy(z, x, 1.0)
        text = message(lambda: kernels.axpy(z, x[:3], 1.0, extents=3))
        assert "argument 'x' shares memory with another array on the tape" in text
        assert "cannot begin while this thread records" in message(lambda: samite.Tape().__enter__())
        assert "cannot begin while this thread records" in message(lambda: samite.Graph(lambda: None))
        assert "argument 'x' expects an array" in message(lambda: kernels.axpy(z, [1.0], 1.0))
    assert len(tape) == 1
    assert "one element" in (text := message(lambda: tape.backward(z))) and "test_tape.py" in text
    assert "no launch on the tape uses" in message(lambda: tape.backward(np.zeros(6), np.zeros(6)))
    assert "extents" in message(lambda: tape.backward(z, np.zeros(5)))
    assert "expects an array" in message(lambda: tape.backward(z, 1.0))
    for wrong in ([z], [(z,)], [1]):
        message(lambda wrong=wrong: tape.backward(wrong), TypeError)
    message(lambda: tape.backward([(z, z)], z), TypeError)
    assert "f64" in message(lambda: tape.gradient(x, out=np.zeros(6, np.float32)))

    with pytest.raises(ZeroDivisionError), tape:
        raise ZeroDivisionError
    kernels.axpy(z, x[:3], 1.0, extents=3)  # it records no more
    assert len(tape) == 1


def test_values_that_something_else_overwrites_are_refused():
    y = np.linspace(1, 2, 5)
    for x in (np.linspace(0.1, 1, 5), np.linspace(0.1, 1, 10)[::2]):
        z, outside = np.zeros(5), [
            lambda x=x: x.__setitem__(2, 7.0),
            lambda x=x: kernels.axpy(x, y, 1.0),
        ]
        for write in outside:
            with samite.Tape() as tape:
                kernels.multiply(z, x, y)
            write()
            text = message(lambda tape=tape, z=z: tape.backward(z, np.ones(5)))
            assert "argument 1 ('x')" in text and "test_tape.py" in text, text
    with samite.Tape() as tape:
        kernels.multiply(z, x, y)
        x[:] = 1  # between two calls
        kernels.axpy(z, x, 1.0)
    assert "argument 1 ('x')" in message(lambda: tape.backward(z, np.ones(5)))
    with samite.Tape() as tape:
        kernels.axpy(z, x, 3.0)  # whose adjoint needs no values
        x[:] = 2
    with samite.Tape(check_writes=False) as tape:
        kernels.multiply(z, x, y)
    x[:] = 1
    tape.backward(z, np.ones(5))  # of the values of now


def test_other_threads_are_not_recorded():
    y, x = np.zeros(3), np.ones(3)
    with samite.Tape() as tape:
        thread = threading.Thread(target=lambda: kernels.axpy(y, x, 1.0))
        thread.start()
        thread.join()
    assert len(tape) == 0 and (y == 1).all()


def test_one_thread_uses_a_tape_at_a_time():
    y, x = np.zeros(4), np.ones(4)
    tape, refused = samite.Tape(), []
    with tape:
        kernels.axpy(y, x, 1.0)
        spinning = np.zeros(1)
        rounds = 1 << 22

        def other():
            try:
                while thread.is_alive() and not refused:
                    tape.zero_gradients()
            except samite.UserError as error:
                refused.append(str(error))

        thread = threading.current_thread()
        watcher = threading.Thread(target=other)
        watcher.start()
        try:
            while not refused:
                kernels.spin(spinning, rounds)
        except samite.UserError as error:  # the other thread had it
            refused.append(str(error))
        watcher.join()
    assert "one uses it at a time" in refused[0]


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    x, y, z = torch.linspace(0.1, 1, 5).double(), torch.linspace(1, 2, 5).double(), torch.zeros(5).double()
    with samite.Tape() as tape:
        kernels.multiply(z, x, y)
    tape.backward(z, torch.ones(5).double())
    gradient = tape.gradient(x)
    assert isinstance(gradient, torch.Tensor)
    torch.testing.assert_close(gradient, 2 * x * torch.sin(y))
