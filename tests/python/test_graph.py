"""Graphs: calls that are captured once and replayed."""

import gc

import numpy as np
import pytest
import samite
import samite_test_kernels as kernels


def message(call, kind=samite.UserError):
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


def test_calls_are_captured_and_replayed(xp, device):
    y, x, z = xp.zeros(5), xp.arange(5.0), xp.zeros(5)

    def work():
        kernels.axpy(y, x, 2.0)
        kernels.axpy(z, y, 1.0)

    graph = samite.Graph(work, device=device)
    assert not y.any() and not z.any()  # captured and not run
    assert len(graph) == 2 and graph.device == device and "axpy" in str(graph)
    assert repr(graph) == f"<samite.Graph of 2 launches on {device}>"
    for _ in range(3):
        graph()
    samite.synchronize()
    xp.testing.assert_allclose(y, 6 * xp.arange(5.0))
    xp.testing.assert_allclose(z, 12 * xp.arange(5.0))


def test_a_launch_of_it_is_replaced_or_left_out(xp, device):
    y, x = xp.zeros(5), xp.arange(5.0)
    first, second = kernels.axpy.record(y, x, 1.0), kernels.axpy.record(y, x, 10.0)
    if device != "cpu":
        pytest.skip("recorded launches have the stream of their library")
    graph = samite.Graph(lambda: (first(), second()))
    graph.enable(1, False)
    graph()
    assert (y == x).all()
    graph.set(0, kernels.axpy.record(y, np.ones(5), 100.0))
    gc.collect()
    graph()
    assert (y == x + 100).all()
    graph.enable(1, True)
    graph()
    assert (y == 11 * x + 200).all()


def test_the_graph_keeps_its_arrays():
    size = 1 << 20  # whose memory goes back to the system at once
    y = np.zeros(size)
    held = kernels.axpy.record(y, np.full(size, 1.0), 1.0)

    def work():
        kernels.axpy(y, np.full(size, 2.0), 1.0)
        held()

    graph = samite.Graph(work)
    held.set(x=np.full(size, 5.0))  # the graph has the array of its capture
    gc.collect()
    graph()
    assert (y == 3).all()


def test_parts_that_depend_on_a_value(xp, device):
    value, going, counter = xp.full(1, 100.0), xp.ones(1, np.int32), xp.zeros(1)
    one = xp.ones(1)

    def sweep():
        kernels.halve(value, going, 1.0, extents=1)
        samite.capture_if(going, lambda: kernels.axpy(counter, one, 1.0))

    graph = samite.Graph(lambda: samite.capture_while(going, sweep), device=device)
    graph()
    samite.synchronize()
    assert value[0] == 100 / 128 and going[0] == 0 and counter[0] == 6


def test_an_adjoint_is_captured(xp, device):
    x, y, z, z_bar, x_bar = xp.linspace(0.1, 1, 5), xp.linspace(1, 2, 5), xp.zeros(5), xp.zeros(5), xp.zeros(5)
    adjoint, seed = kernels.multiply.adjoint("z", "x"), xp.ones(5)

    def work():
        kernels.axpy(z_bar, seed, 1.0)
        adjoint(z, x, y, z_bar, x_bar, extents=5)  # consumes z_bar

    graph = samite.Graph(work, device=device)
    graph()
    graph()
    samite.synchronize()
    xp.testing.assert_allclose(x_bar, 4 * x * xp.sin(y))


def test_what_is_refused():
    y, x = np.zeros(5), np.ones(5)
    assert "device expects one of" in message(lambda: samite.Graph(lambda: None, device="tpu"))
    assert "stream is for a graph on CUDA" in message(lambda: samite.Graph(lambda: None, stream=7))
    message(lambda: samite.Graph(lambda: 1 / 0), ZeroDivisionError)
    kernels.axpy(y, x, 1.0)  # the capture has ended
    assert (y == 1).all()
    assert "argument 1 ('x')" in message(lambda: samite.Graph(lambda: kernels.axpy(y, x[:2], 1.0)))
    message(lambda: samite.Graph(3), TypeError)
    graph = samite.Graph(lambda: kernels.axpy(y, x, 1.0))
    assert "has none of number 1" in message(lambda: graph.enable(1, False))
    text = message(lambda: graph.set(0, kernels.multiply.record(y, x, x)))
    assert "axpy" in text and "test_graph.py" in text
    assert "while a graph is captured" in message(lambda: samite.capture_if(np.ones(1, np.int32), lambda: None))
    wrong = lambda: samite.capture_while(np.ones(1), lambda: None)  # noqa: E731
    message(lambda: samite.Graph(wrong))
    with samite.Tape():
        assert "while a tape records" in message(graph)
        assert "cannot begin" in message(lambda: samite.Graph(lambda: None))


def test_a_graph_is_a_part_of_another():
    y, x = np.zeros(1 << 20), np.ones(1 << 20)
    inner = samite.Graph(lambda: kernels.axpy(y, x, 1.0))
    outer = samite.Graph(lambda: (inner(), inner(), kernels.axpy(y, x, 10.0)))
    del inner, x
    gc.collect()
    outer()
    assert (y == 12).all()
