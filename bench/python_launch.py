"""What a call from Python costs, beside Warp: JSON lines.

    build/python-environment/bin/pip install warp-lang          # without it the peers are left out
    cmake --build build/release --target samite_test_kernels
    PYTHONPATH=build/release/python:build/release/tests/python/modules \
        build/python-environment/bin/python bench/python_launch.py
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import samite_test_kernels as kernels

ROUNDS = 3


def in_turn(*measures):
    """The best of some rounds of each, of which one does nothing where its peer is not there."""
    best = [float("inf")] * len(measures)
    for _ in range(ROUNDS):
        for i, measure in enumerate(measures):
            if measure:
                best[i] = min(best[i], measure())
    return [value if measure else None for value, measure in zip(best, measures)]


def microseconds(call, times=5000):
    """Measures one call."""

    def measure():
        begin = time.perf_counter()
        for _ in range(times):
            call()
        return (time.perf_counter() - begin) / times * 1e6

    call()
    return measure


def report(case, metric, value, unit, peer=None, peer_value=None):
    line = {"bench": "python_launch", "case": case, "metric": metric, "value": float(f"{value:.4g}"), "unit": unit}
    if peer_value is not None:
        line |= {"peer": peer, "peer_value": float(f"{peer_value:.4g}"), "ratio": float(f"{peer_value / value:.4g}")}
    print(json.dumps(line), flush=True)


def child(program, **environment):
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return float(done.stdout.split()[-1])


# Each stands for itself, as a user's first line would.
IMPORT = "import time; begin = time.perf_counter(); import samite; print((time.perf_counter() - begin) * 1e3)"
FIRST_CALL = """
import time, numpy as np, samite_test_kernels as kernels
now, next = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
begin = time.perf_counter()
kernels.diffuse(next, now, 0.2)
print((time.perf_counter() - begin) * 1e3)
"""
WARP_FIRST_CALL = """
import time, pathlib, sys, warp as wp
wp.config.quiet = True
wp.config.kernel_cache_dir = {cache!r}
wp.init()
sys.path.insert(0, pathlib.Path({folder!r}).as_posix())
import warp_diffuse
now, next = wp.zeros((64, 64), dtype=float, device="cpu"), wp.zeros((64, 64), dtype=float, device="cpu")
begin = time.perf_counter()
wp.launch(warp_diffuse.diffuse, dim=(64, 64), inputs=[next, now, 0.2], device="cpu")
print((time.perf_counter() - begin) * 1e3)
"""
WARP_KERNELS = """
import warp as wp


@wp.kernel
def diffuse(next: wp.array2d(dtype=float), now: wp.array2d(dtype=float), rate: float):
    y, x = wp.tid()
    if y > 0 and x > 0 and y < now.shape[0] - 1 and x < now.shape[1] - 1:
        next[y, x] = now[y, x] + rate * (
            now[y - 1, x] + now[y + 1, x] + now[y, x - 1] + now[y, x + 1] - 4.0 * now[y, x]
        )


@wp.kernel
def axpy(y: wp.array(dtype=wp.float64), x: wp.array(dtype=wp.float64), a: wp.float64):
    i = wp.tid()
    y[i] = y[i] + a * x[i]
"""


def warp_calls(folder):
    """A recorded launch, an ordinary one, and a first one in a process of its own; nothing where Warp is not there."""
    try:
        import warp as wp
    except ImportError:
        return None, None, None
    with open(os.path.join(folder, "warp_diffuse.py"), "w") as file:
        file.write(WARP_KERNELS)
    sys.path.insert(0, folder)
    wp.config.quiet = True
    import warp_diffuse

    y, x = wp.zeros(1, dtype=wp.float64, device="cpu"), wp.zeros(1, dtype=wp.float64, device="cpu")
    a = wp.float64(1.0)
    recorded = wp.launch(warp_diffuse.axpy, dim=1, inputs=[y, x, a], device="cpu", record_cmd=True)
    call = microseconds(lambda: wp.launch(warp_diffuse.axpy, dim=1, inputs=[y, x, a], device="cpu"))

    def first():
        return child(WARP_FIRST_CALL.format(folder=folder, cache=tempfile.mkdtemp(dir=folder)))

    return microseconds(recorded.launch), call, first


def main():
    warp = "Warp, CPU"
    with tempfile.TemporaryDirectory() as folder:
        warp_recorded, warp_call, warp_first = warp_calls(folder)
        y, x = np.zeros(1), np.ones(1)
        recorded = kernels.axpy.record(y, x, 1.0)
        times = in_turn(microseconds(recorded), warp_recorded)
        report("recorded, one instance", "time of a call", times[0], "us", warp, times[1])
        times = in_turn(microseconds(lambda: kernels.axpy(y, x, 1.0)), warp_call)
        report("two arrays of NumPy", "time of a call", times[0], "us", warp, times[1])
        try:
            import torch
        except ImportError:
            pass
        else:
            ty, tx = torch.zeros(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
            times = in_turn(microseconds(lambda: kernels.axpy(ty, tx, 1.0)), warp_call)
            report("two tensors of torch", "time of a call", times[0], "us", warp, times[1])
        report("import samite", "time", in_turn(lambda: child(IMPORT))[0], "ms")

        def first():
            return child(FIRST_CALL, SAMITE_CACHE_DIR=tempfile.mkdtemp(dir=folder))

        times = in_turn(first, warp_first)
        report("first call, empty cache", "time", times[0], "ms", warp, times[1])


main()
