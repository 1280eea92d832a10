"""The devices of tests: those that take `device` run on the CPU and, where there is a GPU, on cuda:0; all others on the
CPU.

SAMITE_TEST_DEVICE names the only one, as for the tests in C++. With cuda:0, tests of the CPU alone are left out, which
need its compiler.
"""

import os

import numpy as np
import pytest
import samite

ONLY = os.environ.get("SAMITE_TEST_DEVICE")
DEVICES = [ONLY] if ONLY else ["cpu", *[each for each in samite.devices() if each == "cuda:0"]]


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture
def xp(device):
    """Where the arrays of a test come from: NumPy, or CuPy, which has functions of the same names."""
    if device == "cpu":
        return np
    return pytest.importorskip("cupy", reason="CuPy is not installed")


@pytest.fixture
def torch_on(device):
    """Of a test with tensors on the device."""
    import torch

    if device != "cpu" and not torch.cuda.is_available():
        missing("torch sees no GPU")
    torch.manual_seed(0)


def missing(what):
    """Whoever has named the device wants its tests to run."""
    (pytest.fail if ONLY else pytest.skip)(what)


@pytest.fixture
def cuda_only():
    """Of a test that there is on a GPU alone."""
    if "cuda:0" not in DEVICES or "cuda:0" not in samite.devices():
        missing("there is no GPU")


def pytest_collection_modifyitems(config, items):
    if ONLY in (None, "cpu"):
        return
    kept = [item for item in items if {"device", "cuda_only"} & set(item.fixturenames)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
