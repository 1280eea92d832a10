"""The kernels of bench/cuda_kernels and of bench/cuda_tile_matmul in Warp: prints a JSON line for each case.

    python bench/peers/warp_gpu.py                 # on the first GPU
    python bench/peers/warp_gpu.py --device cpu --scale 64    # smaller ones, to see that the results are right

Times are of recorded launches, medians of seven rounds, measured by events on a GPU. Results are compared with NumPy's
before anything is timed. `first_launch` is the time from the definition to the first result, with an empty cache of
kernels: all kernels of the file but the products are one module, which Warp compiles at once; a product is its own.
Shapes of tiles are the fastest of several that were tried, which --all-shapes measures again.
"""

import argparse
import json
import statistics
import time

import numpy as np
import warp as wp

wp.config.quiet = True


@wp.kernel
def axpy(y: wp.array(dtype=float), x: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = y[i] + a * x[i]


@wp.kernel
def gravity(ax: wp.array(dtype=float), ay: wp.array(dtype=float), az: wp.array(dtype=float),
            x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float),
            mass: wp.array(dtype=float), softening: float):
    i = wp.tid()
    here = wp.vec3(x[i], y[i], z[i])
    total = wp.vec3(0.0, 0.0, 0.0)
    for j in range(x.shape[0]):
        apart = wp.vec3(x[j], y[j], z[j]) - here
        inverse = 1.0 / wp.sqrt(wp.dot(apart, apart) + softening * softening)
        total += (mass[j] * inverse * inverse * inverse) * apart
    ax[i] = total[0]
    ay[i] = total[1]
    az[i] = total[2]


@wp.kernel
def stencil(next: wp.array3d(dtype=float), now: wp.array3d(dtype=float), rate: float):
    i, j, k = wp.tid()
    total = -6.0 * now[i, j, k]
    if i > 0:
        total += now[i - 1, j, k]
    if i < now.shape[0] - 1:
        total += now[i + 1, j, k]
    if j > 0:
        total += now[i, j - 1, k]
    if j < now.shape[1] - 1:
        total += now[i, j + 1, k]
    if k > 0:
        total += now[i, j, k - 1]
    if k < now.shape[2] - 1:
        total += now[i, j, k + 1]
    next[i, j, k] = now[i, j, k] + rate * total


def product(factor, rows, inner):
    @wp.kernel(module="unique")
    def multiply(a: wp.array2d(dtype=factor), b: wp.array2d(dtype=factor), c: wp.array2d(dtype=float)):
        i, j = wp.tid()
        total = wp.tile_zeros(shape=(rows, rows), dtype=float)
        for k in range(a.shape[1] // inner):
            left = wp.tile_load(a, shape=(rows, inner), offset=(i * rows, k * inner))
            right = wp.tile_load(b, shape=(inner, rows), offset=(k * inner, j * rows))
            wp.tile_matmul(left, right, total)
        wp.tile_store(c, total, offset=(i * rows, j * rows))

    return multiply


class Bench:
    def __init__(self, device, rounds):
        self.device, self.rounds = wp.get_device(device), rounds
        self.random = np.random.default_rng(1)

    def array(self, shape, dtype=float, values=None):
        if values is None:
            values = self.random.uniform(0, 1, shape)
        return wp.array(np.asarray(values, np.float32), dtype=dtype, device=self.device, requires_grad=True)

    def milliseconds(self, launch, calls):
        times = []
        for _ in range(self.rounds + 1):
            begin, end = (wp.Event(device=self.device, enable_timing=True) for _ in range(2)) if (
                self.device.is_cuda) else (None, None)
            start = time.perf_counter()
            if begin:
                wp.record_event(begin)
            for _ in range(calls):
                launch.launch()
            if begin:
                wp.record_event(end)
                wp.synchronize_device(self.device)
                times.append(wp.get_event_elapsed_time(begin, end) / calls)
            else:
                times.append((time.perf_counter() - start) * 1e3 / calls)
        return statistics.median(times[1:])

    def case(self, name, adjoint_name, kernel, dim, arguments, check, calls, launch=wp.launch, **options):
        start = time.perf_counter()
        launch(kernel, dim=dim, inputs=arguments, device=self.device, **options)
        wp.synchronize_device(self.device)
        first = time.perf_counter() - start
        check()
        recorded = launch(kernel, dim=dim, inputs=arguments, device=self.device, record_cmd=True, **options)
        gradients = [a.grad if isinstance(a, wp.array) else a for a in arguments]
        adjoint = launch(kernel, dim=dim, inputs=arguments, adj_inputs=gradients, adjoint=True, device=self.device,
                         record_cmd=True, **options)
        for what, work in ((name, recorded), (adjoint_name, adjoint)):
            print(json.dumps({"bench": "warp_gpu", "case": what, "metric": "time of a launch",
                              "value": self.milliseconds(work, calls), "unit": "ms",
                              "first_launch": round(first * 1e3), "device": str(self.device),
                              "version": wp.config.version}), flush=True)


def close(found, expected, tolerance, what):
    if abs(found - expected) > tolerance * max(1.0, abs(expected)):
        raise SystemExit(f"{what}: {found} instead of {expected}")


def streaming(bench, scale):
    n = (1 << 28) // scale**3
    y, x = bench.array(n), bench.array(n)
    expected = float(y.numpy()[n // 2]) + 0.5 * float(x.numpy()[n // 2])
    bench.case("axpy, 256 M floats", "adjoint of axpy", axpy, n, [y, x, 0.5],
               lambda: close(float(y.numpy()[n // 2]), expected, 1e-6, "axpy"), 10)
    side = 512 // scale
    next, now = bench.array((side,) * 3), bench.array((side,) * 3)

    def check():
        u = now.numpy().astype(np.float64)
        i, j, k = side // 2, side // 3, side // 4
        around = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k] + u[i, j, k - 1] + u[i, j, k + 1]
        close(float(next.numpy()[i, j, k]), u[i, j, k] + 0.1 * (around - 6 * u[i, j, k]), 1e-5, "stencil")

    bench.case("7-point stencil, 512³", "adjoint of the stencil", stencil, (side,) * 3, [next, now, 0.1], check, 10)


def bodies(bench, scale):
    n = 65536 // scale
    arrays = [bench.array(n) for _ in range(7)]

    def check():
        ax, _, _, x, y, z, mass = (a.numpy().astype(np.float64) for a in arrays)
        dx, dy, dz = x - x[7], y - y[7], z - z[7]
        inverse = (dx * dx + dy * dy + dz * dz + 0.01) ** -0.5
        close(ax[7], float((mass * inverse**3 * dx).sum()), 1e-3, "N-body")

    bench.case("N-body, 64 K bodies", "adjoint of N-body", gravity, n, [*arrays, 0.1], check, 3)


def products(bench, scale, all_shapes):
    n = 4096 // scale
    shapes = [("f32", wp.float32, 128, 32, 256), ("f16", wp.float16, 64, 32, 128)]
    if all_shapes:
        shapes += [("f32", wp.float32, 64, 16, 128), ("f32", wp.float32, 64, 32, 256), ("f32", wp.float32, 128, 16, 256),
                   ("f16", wp.float16, 128, 32, 256)]
    for name, dtype, rows, inner, threads in shapes:
        rows = min(rows, n)
        inner = min(inner, n)
        values = [bench.random.uniform(-1, 1, (n, n)) for _ in range(2)]
        a, b = (bench.array((n, n), dtype, v) for v in values)
        c = wp.zeros((n, n), dtype=float, device=bench.device, requires_grad=True)

        def check():
            expected = float(a.numpy()[3].astype(np.float64) @ b.numpy()[:, 5].astype(np.float64))
            close(float(c.numpy()[3, 5]), expected, 1e-2, name)

        bench.case(f"{name}, 4096³", f"{name}, 4096³, adjoint of both factors", product(dtype, rows, inner),
                   (n // rows, n // rows), [a, b, c], check, 3, launch=wp.launch_tiled, block_dim=threads)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--scale", type=int, default=1, help="divides the extents")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--all-shapes", action="store_true", help="of tiles, and not the fastest alone")
    options = parser.parse_args()
    wp.init()
    wp.clear_kernel_cache()
    bench = Bench(options.device, options.rounds)
    streaming(bench, options.scale)
    bodies(bench, options.scale)
    products(bench, options.scale, options.all_shapes)


if __name__ == "__main__":
    main()
