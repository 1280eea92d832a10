"""Nothing is left behind: references, memory, and what the interpreter says of it at its end."""

import gc
import os
import resource
import subprocess
import sys

import numpy as np
import pytest
import samite
import samite_test_kernels as kernels

CALLS = int(os.environ.get("SAMITE_TEST_CALLS", "6000"))


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def test_memory_is_steady():
    x = np.ones(256)

    def call(times):
        for _ in range(times):
            y = np.zeros(256)
            kernels.axpy(y, x, 1.0)
            kernels.axpy.record(y, x, 1.0)()
            try:
                kernels.axpy(y, x, "no")
            except samite.UserError:
                pass

    call(2000)
    before = resident_bytes()
    call(CALLS)
    assert resident_bytes() - before < 4 << 20


def test_memory_of_ready_operations_is_steady():
    x = np.ones((16, 32), np.float32)

    def call(times):
        for _ in range(times):
            samite.matmul(x, x.T)
            samite.softmax(x)
            (left, scale_a), (right, scale_b) = samite.quantise(x), samite.quantise(x.T)
            samite.scaled_mm(left, right, scale_a, scale_b)
            try:
                samite.matmul(x, x)
            except samite.UserError:
                pass

    call(500)
    before = resident_bytes()
    call(CALLS // 4)
    assert resident_bytes() - before < 4 << 20


def on_a_tape(y, x):
    with samite.Tape() as tape:
        kernels.axpy(y, x, 2.0)
    tape.backward(y, x)
    tape.gradient(x)


def in_a_graph(y, x):
    graph = samite.Graph(lambda: kernels.axpy(y, x, 1.0))
    graph.set(0, kernels.axpy.record(y, x, 2.0))
    graph()


def test_memory_of_tapes_and_graphs_is_steady():
    def call(times):
        for _ in range(times):
            y, x = np.zeros(256), np.ones(256)
            on_a_tape(y, x)
            in_a_graph(y, x)
            with pytest.raises(ZeroDivisionError):
                samite.Graph(lambda: kernels.axpy(y, x, 1 / 0))

    call(500)
    before = resident_bytes()
    call(CALLS // 4)
    assert resident_bytes() - before < 4 << 20


def test_references_are_given_back():
    image = np.zeros((3, 4), np.float32)
    arrays = [*(np.zeros(8) for _ in range(3)), image]
    y, x, other = arrays[:3]
    calls = [
        lambda: kernels.axpy(y, x, 2.0),
        lambda: kernels.axpy(y=y, x=x, a=2.0, extents=(8,)),
        lambda: kernels.axpy.record(y, x, 2.0)(),
        lambda: kernels.axpy.record(y, x=x, a=2.0).set(x=other),
        lambda: kernels.axpy.adjoint("y", "x")(y, x, 1.0, np.zeros(8), np.zeros(8), extents=8),
        lambda: pytest.raises(samite.UserError, kernels.axpy, y, x, None),
        lambda: pytest.raises(samite.UserError, kernels.axpy, y, np.zeros(8, np.float32), 1.0),
        lambda: pytest.raises(TypeError, kernels.axpy, y, x, 1.0, x=x),
        lambda: kernels.axpy.report().json(),
        lambda: on_a_tape(y, x),
        lambda: in_a_graph(y, x),
        lambda: pytest.raises(samite.UserError, samite.Graph, lambda: kernels.axpy(y, x[:2], 1.0)),
        lambda: kernels.blur.record(image, image.copy(), 1.0)(),
        lambda: kernels.blur(image, image.copy(), 1.0),
    ]
    for call in calls:
        call()
    gc.collect()
    before = [sys.getrefcount(array) for array in arrays]
    for call in calls:
        for _ in range(10):
            call()
    gc.collect()
    assert [sys.getrefcount(array) for array in arrays] == before


def test_a_call_keeps_no_array():
    y, x = np.zeros(8), np.ones(8)
    before = sys.getrefcount(y)
    kernels.axpy(y, x, 1.0)
    launch = kernels.axpy.record(y, x, 1.0)
    assert sys.getrefcount(y) > before
    del launch
    assert sys.getrefcount(y) == before


@pytest.mark.parametrize(
    "program",
    [
        "launch = kernels.axpy.record(y, x, 1.0); launch()",
        "adjoint = kernels.axpy.adjoint(); kernels.axpy(y, x, 1.0)",
        "del kernels; gc.collect()",
        "launch = kernels.axpy.record(y, x, 1.0); del kernels, y, x; gc.collect(); launch()",
        "z = samite.softmax(y); kept = samite.ready; del samite; gc.collect()",
        "tape = samite.Tape(); tape.__enter__(); kernels.axpy(y, x, 1.0); tape.__exit__(); del y, x; gc.collect()",
        "graph = samite.Graph(lambda: kernels.axpy(y, x, 1.0)); del kernels, y, x; gc.collect(); graph()",
        "import threading; threading.Thread(target=lambda: samite.matmul(big, big), daemon=True).start()",
        "import threading; threading.Thread(target=lambda: kernels.spin(y, 1 << 26), daemon=True).start()",
    ],
)
def test_the_interpreter_ends_well(program):
    done = subprocess.run(
        [sys.executable, "-c", "import gc, numpy as np, samite, samite_test_kernels as kernels\n"
         "y, x, big = np.zeros(8), np.ones(8), np.ones((512, 512))\n" + program],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == "", done.stderr
