"""Kernels as objects of Python: their signatures and help, pickling, what they print, and `python -m samite`."""

import contextlib
import copy
import inspect
import io
import multiprocessing
import os
import pickle
import pydoc
import subprocess
import sys

import numpy as np
import pytest
import samite
import samite_test_kernels as kernels


def test_a_kernel_has_a_signature():
    signature = inspect.signature(kernels.diffuse)
    assert list(signature.parameters) == ["next", "now", "rate", "extents", "stream", "debug", "deterministic"]
    assert signature.parameters["now"].annotation == "float32[:, :]"
    assert signature.bind(1, 2, rate=3).arguments == {"next": 1, "now": 2, "rate": 3}
    with pytest.raises(TypeError):
        signature.bind(1, 2)
    assert inspect.signature(kernels.move).parameters["by"].annotation == "tuple[float32, float32, float32]"
    assert list(inspect.signature(kernels.diffuse.adjoint("next")).parameters)[:4] == [
        "next", "now", "rate", "next_gradient",
    ]  # fmt: skip


def test_a_parameter_that_is_a_word_of_python_goes_by_position():
    kinds = [each.kind.name for each in inspect.signature(kernels.gather).parameters.values()]
    assert kinds[:3] == ["POSITIONAL_ONLY", "POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD"]


def test_help_has_the_users_text():
    text = pydoc.render_doc(kernels.diffuse, renderer=pydoc.plaintext)
    assert "One step of the heat equation." in text
    assert "diffuse(next: 'float32[:, :]', now: 'float32[:, :]', rate: 'float32', *" in text
    assert "next: array of float32 with 2 dimensions, written" in text
    assert kernels.move.__doc__.endswith("by: 3 numbers as a tuple, float32")
    assert "array of float64 with 1 dimension, changed in place" in kernels.axpy.__doc__
    assert samite.Kernel.__doc__.startswith("A kernel. Call it with")
    assert "adjoint" in pydoc.render_doc(samite.Kernel, renderer=pydoc.plaintext)


def test_kernels_are_pickled_by_module_and_name():
    for kernel in (kernels.diffuse, kernels.copy_int8):
        assert pickle.loads(pickle.dumps(kernel)) is kernel and copy.deepcopy(kernel) is kernel
    second = kernels.multiply.adjoint("z", "x").adjoint("x_gradient", "x")
    again = pickle.loads(pickle.dumps(second))
    assert again.parameters == second.parameters and again is not second
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(kernels.axpy.record(np.zeros(3), np.zeros(3), 1.0))


def scaled(kernel):
    y = np.zeros(4)
    kernel(y, np.arange(4.0), 2.0)
    return y.tolist()


def test_a_kernel_goes_to_another_process():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(scaled, (kernels.axpy,)) == [0, 2, 4, 6]


def test_kernels_print_to_pythons_standard_output():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print("before")
        kernels.tell(np.array([1, 2.5], np.float32), extents=2)
        print("after")
    before, *lines, after = out.getvalue().splitlines()
    assert (before, after) == ("before", "after")
    assert sorted(lines) == ["values(0) = 1", "values(1) = 2.5"]


def test_what_a_kernel_prints_before_it_fails_is_written():
    with contextlib.redirect_stdout(io.StringIO()) as out, pytest.raises(samite.UserError):
        kernels.tell(np.ones(2, np.float32), extents=3, debug=True)
    assert "values(0) = 1" in out.getvalue()


def test_an_error_of_standard_output_is_raised():
    class Full(io.StringIO):
        def write(self, text):
            raise OSError("no space")

    with contextlib.redirect_stdout(Full()), pytest.raises(OSError, match="no space"):
        kernels.tell(np.ones(2, np.float32), extents=2)
    with contextlib.redirect_stdout(None):
        kernels.tell(np.ones(2, np.float32), extents=2)


def run(*arguments, **environment):
    ran = subprocess.run(
        [sys.executable, "-m", "samite", *arguments], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert ran.returncode == 0 and not ran.stderr
    return ran.stdout


def test_the_package_says_what_it_has():
    text = run()
    assert text.startswith(f"samite {samite.__version__} on ") and "CPU compiler: " in text


def test_the_package_says_which_compiler_is_missing_and_how_to_get_it():
    text = run(SAMITE_CLANG_PLUGIN="/nowhere/libsamite_clang.so", SAMITE_CUDA_PATH="/nowhere")
    assert "CPU compiler is missing: " in text and "no file at /nowhere/libsamite_clang.so" in text
    assert "install it with Samite" in text
    assert "CUDA compiler is missing: " in text and "pip install nvidia-cuda-nvrtc" in text
