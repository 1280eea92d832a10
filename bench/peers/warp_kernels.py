"""The kernels of bench/adjoint_cost in Warp, on its CPU device: prints one JSON line for each case and direction.

Times are of recorded launches, medians over the rounds, in milliseconds; gradients are set to zero before each, which
is not timed. Kernels are compiled, and have run once, before anything is timed.
"""

import argparse
import json
import math
import os
import resource
import statistics
import time

import numpy as np
import warp as wp

wp.config.quiet = True
wp.init()
F2 = wp.array2d(dtype=wp.float32)
F3 = wp.array3d(dtype=wp.float32)


@wp.kernel
def gravity(ax: wp.array(dtype=float), ay: wp.array(dtype=float), az: wp.array(dtype=float),
            x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float),
            mass: wp.array(dtype=float), softening: float):
    i = wp.tid()
    xi = x[i]
    yi = y[i]
    zi = z[i]
    sum_x = float(0.0)
    sum_y = float(0.0)
    sum_z = float(0.0)
    for j in range(x.shape[0]):
        dx = x[j] - xi
        dy = y[j] - yi
        dz = z[j] - zi
        inverse = 1.0 / wp.sqrt(dx * dx + dy * dy + dz * dz + softening * softening)
        strength = mass[j] * inverse * inverse * inverse
        sum_x += strength * dx
        sum_y += strength * dy
        sum_z += strength * dz
    ax[i] = sum_x
    ay[i] = sum_y
    az[i] = sum_z


@wp.func
def pull(x: F3, row: int, column: int, here: wp.vec3, down: int, along: int, spacing: float, stiffness: float):
    r = row + down
    c = column + along
    result = wp.vec3(0.0, 0.0, 0.0)
    if r >= 0 and r < x.shape[1] and c >= 0 and c < x.shape[2]:
        apart = wp.vec3(x[0, r, c], x[1, r, c], x[2, r, c]) - here
        rest = wp.sqrt(float(down * down + along * along)) * spacing
        result = stiffness * (1.0 - rest / wp.sqrt(wp.dot(apart, apart))) * apart
    return result


@wp.kernel
def cloth_step(next_x: F3, next_v: F3, x: F3, v: F3, spacing: float, stiffness: float, drag: float, dt: float):
    row, column = wp.tid()
    here = wp.vec3(x[0, row, column], x[1, row, column], x[2, row, column])
    velocity = wp.vec3(v[0, row, column], v[1, row, column], v[2, row, column])
    acceleration = wp.vec3(0.0, -9.81, 0.0) - drag * velocity
    acceleration += pull(x, row, column, here, -1, 0, spacing, stiffness)
    acceleration += pull(x, row, column, here, 1, 0, spacing, stiffness)
    acceleration += pull(x, row, column, here, 0, -1, spacing, stiffness)
    acceleration += pull(x, row, column, here, 0, 1, spacing, stiffness)
    acceleration += pull(x, row, column, here, -1, -1, spacing, stiffness)
    acceleration += pull(x, row, column, here, -1, 1, spacing, stiffness)
    acceleration += pull(x, row, column, here, 1, -1, spacing, stiffness)
    acceleration += pull(x, row, column, here, 1, 1, spacing, stiffness)
    acceleration += pull(x, row, column, here, -2, 0, spacing, stiffness)
    acceleration += pull(x, row, column, here, 2, 0, spacing, stiffness)
    acceleration += pull(x, row, column, here, 0, -2, spacing, stiffness)
    acceleration += pull(x, row, column, here, 0, 2, spacing, stiffness)
    faster = velocity + dt * acceleration
    there = here + dt * faster
    for c in range(3):
        next_v[c, row, column] = faster[c]
        next_x[c, row, column] = there[c]


@wp.func
def interpolate(field: F2, y: float, x: float):
    bottom = field.shape[0] - 1
    right = field.shape[1] - 1
    row = wp.clamp(y, 0.0, float(bottom))
    column = wp.clamp(x, 0.0, float(right))
    i = wp.min(int(row), bottom - 1)
    j = wp.min(int(column), right - 1)
    down = row - float(i)
    along = column - float(j)
    above = field[i, j] + along * (field[i, j + 1] - field[i, j])
    below = field[i + 1, j] + along * (field[i + 1, j + 1] - field[i + 1, j])
    return above + down * (below - above)


@wp.kernel
def advect_velocity(next_y: F2, next_x: F2, v_y: F2, v_x: F2, dt: float):
    i, j = wp.tid()
    y = float(i) - dt * v_y[i, j]
    x = float(j) - dt * v_x[i, j]
    next_y[i, j] = interpolate(v_y, y, x)
    next_x[i, j] = interpolate(v_x, y, x)


@wp.kernel
def divergence(result: F2, v_y: F2, v_x: F2):
    y, x = wp.tid()
    above = wp.max(y - 1, 0)
    below = wp.min(y + 1, v_y.shape[0] - 1)
    left = wp.max(x - 1, 0)
    right = wp.min(x + 1, v_y.shape[1] - 1)
    result[y, x] = (v_y[below, x] - v_y[above, x] + v_x[y, right] - v_x[y, left]) * 0.5


@wp.kernel
def relax_pressure(next: F2, now: F2, source: F2):
    y, x = wp.tid()
    above = wp.max(y - 1, 0)
    below = wp.min(y + 1, now.shape[0] - 1)
    left = wp.max(x - 1, 0)
    right = wp.min(x + 1, now.shape[1] - 1)
    total = now[above, x] + now[below, x] + now[y, left] + now[y, right]
    next[y, x] = (total - source[y, x]) * 0.25


@wp.kernel
def project(next_y: F2, next_x: F2, v_y: F2, v_x: F2, pressure: F2):
    y, x = wp.tid()
    above = wp.max(y - 1, 0)
    below = wp.min(y + 1, pressure.shape[0] - 1)
    left = wp.max(x - 1, 0)
    right = wp.min(x + 1, pressure.shape[1] - 1)
    slope_y = (pressure[below, x] - pressure[above, x]) * 0.5
    slope_x = (pressure[y, right] - pressure[y, left]) * 0.5
    inside = y > 0 and y < pressure.shape[0] - 1 and x > 0 and x < pressure.shape[1] - 1
    if inside:
        next_y[y, x] = v_y[y, x] - slope_y
        next_x[y, x] = v_x[y, x] - slope_x
    else:
        next_y[y, x] = 0.0
        next_x[y, x] = 0.0


@wp.kernel
def advect_smoke(next: F2, now: F2, v_y: F2, v_x: F2, dt: float):
    i, j = wp.tid()
    y = float(i) - dt * v_y[i, j]
    x = float(j) - dt * v_x[i, j]
    next[i, j] = interpolate(now, y, x)


@wp.kernel
def mismatch(total: wp.array(dtype=wp.float64), smoke: F2, target: F2):
    y, x = wp.tid()
    difference = smoke[y, x] - target[y, x]
    wp.atomic_add(total, 0, wp.float64(difference * difference))


class Chain:
    """Recorded launches, and their adjoints in reverse."""

    def __init__(self):
        self.forward, self.adjoint, self.gradients = [], [], {}

    def add(self, kernel, dim, outputs, inputs, launch=wp.launch, **options):
        arguments = outputs + inputs
        gradients = [getattr(a, "grad", None) for a in arguments]
        self.gradients.update({id(g): g for g in gradients if g is not None})
        self.forward.append(launch(kernel, dim=dim, inputs=arguments, device="cpu", record_cmd=True, **options))
        # A scalar's adjoint is a number, which Warp leaves alone.
        adjoints = [g if isinstance(a, wp.array) else a for a, g in zip(arguments, gradients)]
        self.adjoint.append(launch(kernel, dim=dim, inputs=arguments, adj_inputs=adjoints, adjoint=True, device="cpu",
                                   record_cmd=True, **options))

    def run(self):
        for launch in self.forward:
            launch.launch()

    def run_adjoint(self):
        for launch in reversed(self.adjoint):
            launch.launch()

    def prepare(self, seeds):
        for gradient in self.gradients.values():
            gradient.zero_()
        for seed in seeds:
            seed.grad.fill_(1.0)


def array(values):
    return wp.array(np.ascontiguousarray(values), dtype=wp.float32, device="cpu", requires_grad=True)


def nbody(random):
    count = 16384
    x, y, z, mass, ax, ay, az = (array(random.random(count)) for _ in range(7))
    chain = Chain()
    chain.add(gravity, count, [ax, ay, az], [x, y, z, mass, 0.05])
    return "N-body, 16 K bodies", chain, [ax, ay, az]


def cloth(random):
    side = 200
    spacing = 1.0 / (side - 1)
    row, column = np.mgrid[0:side, 0:side]
    flat = np.stack([column, row, np.zeros((side, side))]) + random.uniform(-0.25, 0.25, (3, side, side))
    x, v = array(spacing * flat), array(random.uniform(-0.25, 0.25, (3, side, side)))
    next_x, next_v = array(np.zeros((3, side, side))), array(np.zeros((3, side, side)))
    chain = Chain()
    chain.add(cloth_step, (side, side), [next_x, next_v], [x, v, spacing, 4000.0, 0.2, 0.0025])
    return "cloth, 200 x 200", chain, [next_x, next_v]


def fluid(_):
    size = 250
    field = lambda: array(np.zeros((size, size)))
    y, x = np.mgrid[0:size, 0:size]
    v_y, v_x = array(np.sin(0.013 * x)), array(np.cos(0.017 * y))
    smoke, target = array((x > 100) & (x < 150)), field()
    total = wp.zeros(1, dtype=wp.float64, device="cpu", requires_grad=True)
    chain, dim = Chain(), (size, size)
    moved_y, moved_x, source, pressure = field(), field(), field(), field()
    chain.add(advect_velocity, dim, [moved_y, moved_x], [v_y, v_x, 1.0])
    chain.add(divergence, dim, [source], [moved_y, moved_x])
    for _ in range(20):
        following = field()
        chain.add(relax_pressure, dim, [following], [pressure, source])
        pressure = following
    free_y, free_x, moved_smoke = field(), field(), field()
    chain.add(project, dim, [free_y, free_x], [moved_y, moved_x, pressure])
    chain.add(advect_smoke, dim, [moved_smoke], [smoke, free_y, free_x, 1.0])
    chain.add(mismatch, dim, [total], [moved_smoke, target])
    return "fluid step, 250 x 250", chain, [total]


def milliseconds(work, prepare, rounds):
    """Of the work, and how many processors it kept busy."""
    times, used = [], 0.0
    for i in range(rounds + 1):
        prepare()
        cpu = resource.getrusage(resource.RUSAGE_SELF)
        start = time.perf_counter()
        work()
        seconds = time.perf_counter() - start
        done = resource.getrusage(resource.RUSAGE_SELF)
        if i > 0:
            times.append(seconds * 1e3)
            used += (done.ru_utime - cpu.ru_utime) + (done.ru_stime - cpu.ru_stime)
    return statistics.median(times), used * 1e3 / sum(times)


def report(description, cases):
    """Of each case its name, chain and what the gradient is of: a line for each direction."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=0, help="of each measurement; 0: as many as a second holds")
    options = parser.parse_args()
    for name, chain, seeds in cases:
        chain.run()
        for direction, work in (("forward", chain.run), ("adjoint", chain.run_adjoint)):
            prepare = lambda: chain.prepare(seeds)
            prepare()
            start = time.perf_counter()
            work()
            rounds = options.rounds or max(1, min(101, math.floor(1 / (time.perf_counter() - start))))
            value, busy = milliseconds(work, prepare, rounds)
            print(json.dumps({"bench": "warp", "case": f"{name}, {direction}", "metric": "time of a launch",
                              "value": value, "unit": "ms", "processors_busy": round(busy, 2),
                              "processors": len(os.sched_getaffinity(0)), "version": wp.config.version}), flush=True)


if __name__ == "__main__":
    report(__doc__, (make(np.random.default_rng(1)) for make in (nbody, cloth, fluid)))
