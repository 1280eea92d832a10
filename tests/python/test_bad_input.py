"""Each message names the argument, what was expected and what was given; each error is a ValueError or a TypeError."""

import os
import subprocess
import sys

import numpy as np
import pytest
import samite
import samite_test_kernels as kernels

NOW = np.zeros((4, 5), np.float32)


def message(call, kind=samite.UserError):
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


def test_errors_are_pythons_own_kinds():
    assert issubclass(samite.UserError, ValueError) and issubclass(samite.UserError, samite.Error)
    assert issubclass(samite.DeviceError, RuntimeError) and issubclass(samite.InternalError, RuntimeError)


def test_the_line_of_the_caller_is_told():
    text = message(lambda: kernels.diffuse(NOW, NOW.astype(np.float64), 0.1))
    assert "called at" in text and "test_bad_input.py:" in text


def test_ready_operations_tell_the_line_of_the_caller():
    a, b = np.zeros((3, 4), np.float32), np.zeros((5, 6), np.float32)
    calls = [
        lambda: samite.matmul(a, b),
        lambda: samite.matmul(a, [1.0]),
        lambda: samite.matmul(a, a.T, activation=3),
        lambda: samite.matmul(a, a.T, activation="square"),
        lambda: samite.softmax(a.astype(np.complex64)),
        lambda: samite.quantise(a, dtype="float32"),
        lambda: samite.quantise(a, group=(3, 7)),
        lambda: samite.softmax(a, out=np.zeros(3)),
        lambda: samite.attention(a, a, a),
        lambda: samite.grouped_mm(a, a.T, np.zeros(3, np.int64)),
    ]
    for call in calls:
        first, *_, last = message(call).splitlines()
        assert last.startswith("called at ") and "test_bad_input.py:" in last, message(call)
        assert "ready.cpp" not in first and "site-packages" not in first and "_arrays.py" not in last


def test_an_array_in_eight_bits_without_ml_dtypes_says_what_to_install():
    done = python(
        """
import sys, numpy as np, samite
sys.modules["ml_dtypes"] = None
try:
    samite.quantise(np.ones((4, 4), np.float32))
except ModuleNotFoundError as error:
    assert error.name == "ml_dtypes" and "pip install ml_dtypes" in str(error) and "called at <string>:5" in str(error)
else:
    raise SystemExit("not refused")
"""
    )
    assert done.returncode == 0, done.stderr


def test_what_jax_traces_is_refused_with_a_hint():
    jax = pytest.importorskip("jax")

    def call(now, rate=0.1):
        kernels.diffuse(np.zeros((4, 5), np.float32), now, rate)
        return now.sum()

    def call_with_rate(rate):
        return call(NOW, rate)

    now = jax.numpy.zeros((4, 5), np.float32)
    for transformed, name in (
        (lambda: jax.jit(call)(now), "now"),
        (lambda: jax.grad(call)(now), "now"),
        (lambda: jax.vmap(call)(now[None]), "now"),
        (lambda: jax.jit(call_with_rate)(0.1), "rate"),
    ):
        text = message(transformed)
        assert f"diffuse(): argument '{name}' is traced by JAX" in text and "samite.jax.function()" in text
        assert len(text.splitlines()) == 2 and "test_bad_input.py:" in text


def test_wrong_type():
    text = message(lambda: kernels.diffuse(NOW, NOW.astype(np.float64), 0.1))
    assert "diffuse(): argument 'now' expects an array of float32 with 2 dimensions" in text
    assert "numpy.ndarray of float64 with shape (4, 5) is given" in text


def test_wrong_rank():
    assert "with 2 dimensions; numpy.ndarray of float32 with shape (20,)" in message(
        lambda: kernels.diffuse(NOW, NOW.reshape(-1), 0.1)
    )
    assert "at most 4 dimensions" in message(lambda: kernels.diffuse(NOW, NOW.reshape(1, 1, 1, 4, 5), 0.1))
    assert "'y' expects an array of float64 with 1 dimension" in message(
        lambda: kernels.axpy(np.float64(3).reshape(()), np.zeros(1), 1.0, extents=1)
    )


def test_an_array_that_is_shorter_than_another():
    text = message(lambda: kernels.axpy(np.zeros(5), np.zeros(3), 1.0))
    assert "argument 1 ('x') has extent 3 in dimension 0" in text and "reads it at indices 0 to 4" in text
    assert "called at" in text and "test_bad_input.py:" in text
    assert "argument 0 ('y') has extent 5" in message(lambda: kernels.axpy(np.zeros(5), np.zeros(6), 1.0, extents=6))
    step = kernels.axpy.record(np.ones(3), np.ones(4), 2.0)
    assert "argument 1 ('x') has extent 2" in message(lambda: step.set(x=np.zeros(2)))
    step()


def test_wrong_last_extent():
    assert "the last of them 3; numpy.ndarray of float32 with shape (4, 5)" in message(
        lambda: kernels.move(NOW, (1, 2, 3), extents=4)
    )


def test_what_is_no_array():
    for given in (None, "now", 3, [[1.0]], object(), NOW.__class__):
        text = message(lambda given=given: kernels.diffuse(NOW, given, 0.1))
        assert "argument 'now' expects an array" in text or "argument 'now'" in text


def test_types_that_samite_has_not():
    assert "complex64" in message(lambda: kernels.diffuse(NOW, NOW.astype(np.complex64), 0.1))
    assert "'now'" in (text := message(lambda: kernels.diffuse(NOW, NOW.astype(">f4"), 0.1)))
    assert "its elements are big-endian" in text and "newbyteorder" in text
    pairs = np.zeros((4, 5), [("x", "f4"), ("y", "f4")])
    assert "'now'" in (text := message(lambda: kernels.diffuse(NOW, pairs, 0.1)))
    assert "its elements are structures" in text and "give one field" in text
    kernels.diffuse(NOW, pairs["x"], 0.1)
    big_endian = Interface({**NOW.astype(">f4").__array_interface__})
    assert "its elements are big-endian" in message(lambda: kernels.diffuse(NOW, big_endian, 0.1))
    assert "its elements are structures" in message(
        lambda: kernels.diffuse(NOW, Interface(pairs.__array_interface__), 0.1)
    )
    assert "Samite has no type" in message(lambda: kernels.diffuse(NOW, NOW.astype(object), 0.1))


def test_masked_arrays_whose_mask_would_be_ignored():
    masked = np.ma.masked_array(NOW, NOW > 1)
    text = message(lambda: kernels.diffuse(NOW, masked, 0.1))
    assert "argument 'now'" in text and "its mask would be ignored" in text and "filled" in text
    assert "its mask would be ignored" in message(lambda: samite.softmax(masked))
    kernels.diffuse(NOW, masked.filled(0), 0.1)


def test_read_only_output():
    fixed = NOW.copy()
    fixed.flags.writeable = False
    assert "argument 'next' is written by the kernel" in message(lambda: kernels.diffuse(fixed, NOW, 0.1))
    kernels.diffuse(NOW, fixed, 0.1)


def test_jax_as_output():
    jax = pytest.importorskip("jax")
    assert "as all arrays of JAX are" in message(lambda: kernels.diffuse(jax.numpy.zeros((4, 5), np.float32), NOW, 0.1))


def test_broadcast_output():
    whole = np.lib.stride_tricks.as_strided(np.zeros((1, 5), np.float32), (4, 5), (0, 4))
    assert "'next'" in message(lambda: kernels.diffuse(whole, NOW, 0.1))


def test_elements_that_are_not_aligned():
    packed = np.zeros(4, np.dtype([("a", "i1"), ("b", "f8")]))
    assert "no multiple of an element" in message(lambda: kernels.axpy(np.zeros(4), packed["b"], 1.0))
    memory = np.zeros(41, np.uint8)
    odd = memory[1:33].view(np.float64) if memory.ctypes.data % 8 == 0 else memory[:32].view(np.float64)
    for call in (lambda: kernels.axpy(np.zeros(4), odd, 1.0), lambda: kernels.axpy.record(np.zeros(4), odd, 1.0)):
        text = message(call)
        assert "axpy(): argument 'x'" in text and "its elements are not aligned" in text and "8 bytes" in text
    step = kernels.axpy.record(np.zeros(4), np.ones(4), 1.0)
    assert "argument 'x'" in message(lambda: step.set(x=odd))


def test_wrong_scalars():
    for given in ("0.1", None, True, 1j, np.zeros(3), [0.1]):
        assert "argument 'rate' expects a number" in message(lambda given=given: kernels.diffuse(NOW, NOW, given))
    values = np.zeros(3, np.int32)
    assert "'first' expects a number, as a int32" in message(lambda: kernels.count_up(values, 0.5, 1, True))
    assert "does not fit" in message(lambda: kernels.count_up(values, 1 << 31, 1, True))
    too_large = message(lambda: kernels.diffuse(NOW, NOW, 1e300))
    assert "1e+300 is given, which does not fit: the largest number is 3.4028" in too_large
    assert "more than 64 bits" in message(lambda: kernels.count_up(values, 1 << 70, 1, True))
    assert "give True or False" in message(lambda: kernels.count_up(values, 1, 1, 1))
    assert "expects 3 numbers" in message(
        lambda: kernels.move(np.zeros((2, 3), np.float32), (1, 2), extents=2)
    )


def test_wrong_extents():
    for given, said in {
        (4,): "1 are given",
        (4, -5): "-5 is given",
        (4, 5.0): "float",
        (4, True): "bool",
        "ab": "str",
        4: "launch of rank 2",
        (1 << 70, 1): "more than 63 bits",
        (1 << 40, 1 << 40): "",
        None: None,
    }.items():
        call = lambda given=given: kernels.diffuse(NOW, NOW, 0.1, extents=given)  # noqa: E731
        if said is None:
            call()
        else:
            assert said in message(call)
    assert "extents is missing" in message(lambda: kernels.exponential_rows(np.zeros((2, 64), np.float32), NOW))


def test_wrong_form_of_a_call():
    assert "takes 3 arguments; 4 are given" in message(lambda: kernels.diffuse(NOW, NOW, 0.1, 0.2), TypeError)
    assert "argument 'rate' is missing" in message(lambda: kernels.diffuse(NOW, NOW), TypeError)
    assert "argument 'now' is given twice" in message(lambda: kernels.diffuse(NOW, NOW, 0.1, now=NOW), TypeError)
    assert "has no argument 'speed'" in message(lambda: kernels.diffuse(NOW, NOW, 0.1, speed=1), TypeError)
    assert "debug expects True or False" in message(lambda: kernels.diffuse(NOW, NOW, 0.1, debug=1), TypeError)
    assert "called without arguments" in message(lambda: kernels.diffuse.record(NOW, NOW, 0.1)(1), TypeError)
    assert "has no argument 'speed'" in message(lambda: kernels.diffuse.record(NOW, NOW, 0.1).set(speed=1), TypeError)


def test_streams_of_the_cpu():
    assert "stream is for arrays on CUDA" in message(lambda: kernels.diffuse(NOW, NOW, 0.1, stream=7))


def test_wrong_names_of_an_adjoint():
    assert "expects names of floating arrays" in message(lambda: kernels.diffuse.adjoint("rate"))
    assert "'speed' is given" in message(lambda: kernels.diffuse.adjoint("speed"))
    assert "expects names" in message(lambda: kernels.gather.adjoint("rows"))
    assert "3 is given" in message(lambda: kernels.gather.adjoint(3))


def test_arrays_that_must_be_apart():
    x, y, gradient = np.zeros(3), np.zeros(3), np.zeros(3)
    adjoint = kernels.multiply.adjoint()
    assert "shares no memory" in message(lambda: adjoint(y, x, x, gradient, gradient, np.zeros(3), extents=3))


class Liar:
    """An array whose protocols do not keep their word."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **named):
        return self.capsule


class Interface:
    def __init__(self, interface):
        self.interface = interface

    @property
    def __array_interface__(self):
        if isinstance(self.interface, Exception):
            raise self.interface
        return self.interface


def test_protocols_that_are_wrong():
    message(lambda: kernels.axpy(np.zeros(3), Liar(capsule=None), 1.0))
    message(lambda: kernels.axpy(np.zeros(3), Liar(capsule=3), 1.0))
    right = np.zeros(3).__array_interface__
    for wrong in (
        None,
        {},
        RuntimeError("not now"),
        {**right, "typestr": 3},
        {**right, "typestr": "<f"},
        {**right, "shape": None},
        {**right, "shape": (1 << 80,)},
        {**right, "data": (0, False)},
        {**right, "data": None},
        {**right, "data": ("a", False)},
        {**right, "strides": (8, 8)},
        {**right, "strides": (1 << 62,)},
        {**right, "shape": (-3,)},
    ):
        with pytest.raises((ValueError, TypeError, OverflowError)):
            kernels.axpy(np.zeros(3), Interface(wrong), 1.0)


def python(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)


def test_use_after_a_fork_is_refused():
    done = python(
        """
import os, numpy as np, samite, samite_test_kernels as kernels
kernels.axpy(np.zeros(3), np.zeros(3), 1.0)
calls = [lambda: kernels.axpy(np.zeros(3), np.zeros(3), 1.0), lambda: samite.softmax(np.zeros(3))]
for call in calls:
    child = os.fork()
    if child == 0:
        try:
            call()
        except samite.UserError as error:
            os._exit(7 if "spawn" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
kernels.axpy(np.zeros(3), np.zeros(3), 1.0)
"""
    )
    assert done.returncode == 0, done.stderr


def test_a_fork_before_the_first_use_is_not():
    done = python(
        """
import os, numpy as np, samite_test_kernels as kernels
child = os.fork()
if child == 0:
    y = np.zeros(3)
    kernels.axpy(y, np.ones(3), 1.0)
    os._exit(0 if y[0] == 1 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    )
    assert done.returncode == 0, done.stderr


def test_free_threaded_python_is_refused():
    done = python("import sys; sys.abiflags = 't'; import samite")
    assert done.returncode != 0 and "global lock" in done.stderr


def test_modules_of_another_version_are_refused():
    done = python("import os, samite_other_version")
    assert "ImportError" in done.stderr and "compiled for Samite 9.9.9" in done.stderr and os.name == "posix"


def test_modules_that_throw_say_what():
    done = python("import samite_throwing")
    assert "ImportError" in done.stderr and "not today" in done.stderr
    done = python("import samite_twice")
    assert "two kernels of the module are named 'nothing'" in done.stderr
