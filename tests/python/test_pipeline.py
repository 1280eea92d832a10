"""Scheduled pipelines called from Python."""

import copy
import inspect
import pickle

import numpy as np
import pytest
import samite
import samite_test_kernels as kernels


def message(call, kind=samite.UserError):
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


def image(xp=np):
    return xp.asarray(np.random.default_rng(0).random((5, 8), np.float32))


def blurred(values, factor):
    padded = np.concatenate([values[:, :1], values, values[:, -1:]], 1)
    return np.float32(factor) * (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) / 3


def host(array):
    return array if isinstance(array, np.ndarray) else array.get()


def test_each_schedule_computes_the_same(xp):
    values, out = image(xp), xp.zeros((5, 8), np.float32)
    for schedule in (None, "at once"):
        out[:] = 0
        kernels.blur(out, values, factor=2, schedule=schedule)
        np.testing.assert_allclose(host(out), blurred(host(values), 2), rtol=1e-6)


def test_a_recorded_launch(xp):
    values, out = image(xp), xp.zeros((5, 8), np.float32)
    step = kernels.blur.record(out, values, 1.0, schedule="at once")
    step()
    np.testing.assert_allclose(host(out), blurred(host(values), 1), rtol=1e-6)
    other = xp.zeros_like(out)
    step.set(factor=3.0, out=other)
    step()
    np.testing.assert_allclose(host(other), blurred(host(values), 3), rtol=1e-6)
    assert "pipeline 'blur'" in repr(step) and step.extents == ()
    assert "has no argument 'extents'" in message(lambda: step.set(extents=3), TypeError)


def test_a_pipeline_says_what_it_is():
    assert repr(kernels.blur).startswith("<samite.Pipeline blur(out: float32[:, :], image: float32[:, :], factor")
    names = list(inspect.signature(kernels.blur).parameters)
    assert names == ["out", "image", "factor", "schedule", "stream", "debug", "deterministic"]
    assert "out: array of float32 with 2 dimensions, written" in kernels.blur.__doc__
    assert "The mean of three neighbours" in kernels.blur.__doc__
    assert [each.is_written for each in kernels.blur.parameters] == [True, False, False]
    assert [each.is_read for each in kernels.blur.parameters] == [False, True, False]
    assert pickle.loads(pickle.dumps(kernels.blur)) is kernels.blur and copy.copy(kernels.blur) is kernels.blur


def test_its_loops_and_reports_are_texts(tmp_path):
    assert "sums.x" in kernels.blur.loop_nest("at once") and "pipeline blur" in kernels.blur.loop_nest()
    assert "blur" in kernels.blur.program()
    kernels.blur(np.zeros((5, 8), np.float32), image(), 1.0)
    assert "blur" in kernels.blur.report()
    page = tmp_path / "blur.html"
    kernels.blur.report_html(str(page), "at once")
    assert "<html" in page.read_text()
    assert "device expects one of" in message(lambda: kernels.blur.loop_nest(device="tpu"))


def test_it_is_captured_in_a_graph(xp, device):
    values, out, last = image(xp), xp.zeros((5, 8), np.float32), xp.zeros((5, 8), np.float32)

    def work():
        kernels.blur(out, values, 1.0, schedule="at once")
        kernels.blur(last, out, 2.0)

    graph = samite.Graph(work, device=device)
    assert not host(out).any()
    graph()
    samite.synchronize()
    np.testing.assert_allclose(host(last), blurred(blurred(host(values), 1), 2), rtol=1e-6)


def test_what_is_refused():
    values, out = image(), np.zeros((5, 8), np.float32)
    assert "tiled" in (text := message(lambda: kernels.blur(out, values, 1.0, schedule="tiled")))
    assert "test_pipeline.py:" in text.splitlines()[-1]
    assert "schedule expects a name" in message(lambda: kernels.blur(out, values, 1.0, schedule=3), TypeError)
    assert "has no argument 'extents'" in message(lambda: kernels.blur(out, values, 1.0, extents=(5, 8)), TypeError)
    assert "argument 'image' expects an array of float32" in message(lambda: kernels.blur(out, values[0], 1.0))
    fixed = out.copy()
    fixed.flags.writeable = False
    assert "is written by the pipeline" in message(lambda: kernels.blur(fixed, values, 1.0))
    graph = samite.Graph(lambda: kernels.copy_float32(out, values))
    assert "several launches" in message(lambda: graph.set(0, kernels.blur.record(out, values, 1.0)))


def test_a_pipeline_on_a_tape():
    values, out, last = image(), np.zeros((5, 8), np.float32), np.zeros((5, 8), np.float32)
    with samite.Tape() as tape:
        kernels.blur(out, values, 2.0)
        kernels.copy_float32(last, out)
        assert "shares memory" in message(lambda: kernels.blur(out[:3], values[:3], 1.0))
    tape.backward(last, np.ones((5, 8), np.float32))
    # Three results read each element; those at edges are read twice by their own.
    np.testing.assert_allclose(tape.gradient(values), np.full((5, 8), 2, np.float32), rtol=1e-6)
