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

ROUNDS = 7


def microseconds(call, times=20000):
    """Of one call: the best of some rounds."""
    call()
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(times):
            call()
        best = min(best, (time.perf_counter() - begin) / times)
    return best * 1e6


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
wp.init()
sys.path.insert(0, pathlib.Path({folder!r}).as_posix())
import warp_diffuse
wp.config.kernel_cache_dir = {folder!r}
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


def warp_figures(folder):
    try:
        import warp as wp
    except ImportError:
        return {}
    with open(os.path.join(folder, "warp_diffuse.py"), "w") as file:
        file.write(WARP_KERNELS)
    first = child(WARP_FIRST_CALL.format(folder=folder))
    sys.path.insert(0, folder)
    wp.config.quiet = True
    import warp_diffuse

    y, x = wp.zeros(1, dtype=wp.float64, device="cpu"), wp.zeros(1, dtype=wp.float64, device="cpu")
    a = wp.float64(1.0)
    recorded = wp.launch(warp_diffuse.axpy, dim=1, inputs=[y, x, a], device="cpu", record_cmd=True)
    return {
        "recorded": microseconds(recorded.launch),
        "call": microseconds(lambda: wp.launch(warp_diffuse.axpy, dim=1, inputs=[y, x, a], device="cpu")),
        "first": first,
    }


def main():
    with tempfile.TemporaryDirectory() as folder:
        warp = warp_figures(folder)
        y, x = np.zeros(1), np.ones(1)
        report("recorded, one instance", "time of a call", microseconds(kernels.axpy.record(y, x, 1.0)), "us",
               "Warp, CPU", warp.get("recorded"))
        report("two arrays of NumPy", "time of a call", microseconds(lambda: kernels.axpy(y, x, 1.0)), "us",
               "Warp, CPU", warp.get("call"))
        try:
            import torch
        except ImportError:
            pass
        else:
            ty, tx = torch.zeros(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
            report("two tensors of torch", "time of a call", microseconds(lambda: kernels.axpy(ty, tx, 1.0)), "us",
                   "Warp, CPU", warp.get("call"))
        report("import samite", "time", min(child(IMPORT) for _ in range(ROUNDS)), "ms")
        empty = [tempfile.mkdtemp(dir=folder) for _ in range(3)]
        report("first call, empty cache", "time", min(child(FIRST_CALL, SAMITE_CACHE_DIR=each) for each in empty), "ms",
               "Warp, CPU", warp.get("first"))


main()
