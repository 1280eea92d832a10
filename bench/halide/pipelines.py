"""Pipelines in Halide, scheduled for the CPU, and the time that each takes.

    python pipelines.py [names...] [--threads 2] [--json] [--check PREFIX] [--seconds 0.6]

README.md says what each computes, and how its inputs are made.
"""

import argparse
import ctypes
import json
import os
import sys
import time

import numpy as np

options = argparse.ArgumentParser()
options.add_argument("names", nargs="*")
options.add_argument("--threads", type=int, default=int(os.environ.get("HL_NUM_THREADS", 2)))
options.add_argument("--json", action="store_true", help="JSON lines alone, without the table on standard error")
options.add_argument("--check", metavar="PREFIX", help="write each output to PREFIXname.bin")
options.add_argument("--seconds", type=float, default=0.6, help="for how long each is repeated, at least")
options = options.parse_args()
os.environ["HL_NUM_THREADS"] = str(options.threads)  # read when the first parallel loop runs

import halide as hl  # noqa: E402

TARGET = hl.get_jit_target_from_environment()
VEC = TARGET.natural_vector_size(hl.Float(32))
WIDE = TARGET.has_feature(hl.TargetFeature.AVX512_Skylake)  # 32 registers of 16 floats, else 16 of 8


# Inputs: formulas of the index, in 32-bit unsigned arithmetic that wraps.


def mixed(seed, index):
    h = (index + seed * 0x9E3779B9).astype(np.uint32)
    h ^= h >> 16
    h *= np.uint32(0x7FEB352D)
    h ^= h >> 15
    h *= np.uint32(0x846CA68B)
    return h ^ (h >> 16)


def uniform(seed, *shape):
    """Floats in [-1, 1)."""
    h = mixed(seed, np.arange(np.prod(shape, dtype=np.int64)))
    return ((h >> 8).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)).reshape(shape)


def picture16(*shape):
    """Integers from 0 to 65486: waves of brightness, and noise. shape: channels, rows, columns."""
    c, y, x = np.indices(shape[-3:], np.int64) if len(shape) == 3 else (0, *np.indices(shape, np.int64))
    wave = (3 * x + 2 * y + 341 * c) % 2048
    wave = np.where(wave < 1024, wave, 2047 - wave)
    noise = mixed(1, np.arange(np.prod(shape))).reshape(shape) >> 18
    return (wave * 48 + noise).astype(np.int32)


def picture(*shape):
    return picture16(*shape).astype(np.float32) / np.float32(65536)


def permutation(seed, count):
    return np.argsort(mixed(seed, np.arange(count)), kind="stable").astype(np.int32)


# What the pipelines share.


class Case:
    def __init__(self, output, inputs, result, operations=None):
        """output: a Func; inputs: (ImageParam, array) pairs; result: the array that it fills."""
        self.output, self.inputs, self.result, self.operations = output, inputs, result, operations


def image(name, array, type=None):
    """An ImageParam with the sizes of an array, whose last dimension is Halide's first."""
    param = hl.ImageParam(type or hl.Float(32), array.ndim, name)
    fix(param, array.shape)
    return param


def fix(param, shape):
    stride = 1
    for d, extent in enumerate(reversed(shape)):
        param.dim(d).set_bounds(0, extent).set_stride(stride)
        stride *= extent


def finish(output, inputs, shape, type=np.float32, operations=None):
    fix(output.output_buffer(), shape)
    return Case(output, inputs, np.zeros(shape, type), operations)


# Halide allocates large intermediates anew in each run. Without this, glibc returns them to the system each time, and
# the next run pays for page faults: up to half of the time of some pipelines.
libc = ctypes.CDLL(None)
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
libc.mallopt(M_MMAP_THRESHOLD, 1 << 30)
libc.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


# The pipelines.


POINTS = 100_000, 27, 64, 64  # points, offsets, channels in and out


def points():
    N, K, C, M = POINTS
    data, weights = uniform(1, N, C), uniform(2, K, C, M)
    in_maps = np.stack([permutation(100 + n, N) for n in range(K)])
    out_maps = np.stack([permutation(200 + n, N) for n in range(K)])
    a, w = image("a", data), image("w", weights)
    im, om = image("im", in_maps, hl.Int(32)), image("om", out_maps, hl.Int(32))
    return a, w, im, om, [(a, data), (w, weights), (im, in_maps), (om, out_maps)]


@case
def tensor_product():
    N, K, C, M = POINTS
    a, w, im, om, inputs = points()
    m, o, c, p, n = hl.vars("m o c p n")
    gather, sums, product, out = hl.Func("gather"), hl.Func("sums"), hl.Func("product"), hl.Func("out")
    gather[c, p, n] = a[c, hl.unsafe_promise_clamped(im[p, n], 0, N - 1)]
    k = hl.RDom([(0, C)], "k")
    sums[m, p, n] = 0.0
    sums[m, p, n] += gather[k.x, p, n] * w[m, k.x, n]
    product[m, p, n] = sums[m, p, n]
    r = hl.RDom([(0, N), (0, K)], "r")
    out[m, o] = 0.0
    out[m, hl.unsafe_promise_clamped(om[r.x, r.y], 0, N - 1)] += product[m, r.x, r.y]

    oo, oi, pi = hl.vars("oo oi pi")
    po, pc, pt = hl.RVar("po"), hl.RVar("pc"), hl.RVar("pt")
    out.split(o, oo, oi, 1000).parallel(oo).vectorize(m, VEC).unroll(m)
    update = out.update()
    update.allow_race_conditions()  # there are none: each map names each point once
    (update.split(r.x, po, pc, 1000).split(pc, pc, pt, 50).reorder(m, pt, pc, po, r.y)
        .parallel(po).vectorize(m, VEC).unroll(m))
    tile = 5 if WIDE else 1
    gather.compute_at(out, pc).store_in(hl.MemoryType.Stack).bound(c, 0, C).vectorize(c, VEC).unroll(c)
    product.compute_at(out, pc).store_in(hl.MemoryType.Stack).bound(m, 0, M)
    product.split(p, p, pi, tile).reorder(m, pi, p).vectorize(m, VEC).unroll(m).unroll(pi)
    sums.compute_at(product, p).bound(m, 0, M).vectorize(m, VEC).unroll(m).unroll(p)
    sums.update().reorder(m, p, k.x).vectorize(m, VEC).unroll(m).unroll(p)
    return finish(out, inputs, (N, M), operations=2.0 * N * K * C * M)


@case
def tensor_product_inverted():
    """The same result, but each point gathers what it gets: right where each map of an offset names each point once."""
    N, K, C, M = POINTS
    a, w, im, om, inputs = points()
    m, o, c, n = hl.vars("m o c n")
    source, gather, product, sums, out = (hl.Func(name) for name in ("source", "gather", "product", "sums", "out"))
    p = hl.RDom([(0, N)], "p").x
    source[o, n] = hl.undef(hl.Int(32))
    source[hl.unsafe_promise_clamped(om[p, n], 0, N - 1), n] = im[p, n]
    gather[c, o, n] = a[c, hl.unsafe_promise_clamped(source[o, n], 0, N - 1)]
    k, rn = hl.RDom([(0, C)], "k").x, hl.RDom([(0, K)], "rn").x
    product[m, o, n] = 0.0
    product[m, o, n] += gather[k, o, n] * w[m, k, n]
    sums[m, o] = 0.0
    sums[m, o] += product[m, o, rn]
    out[m, o] = sums[m, o]

    oo, oi = hl.vars("oo oi")
    tile = 5 if WIDE else 2
    source.compute_root().update().allow_race_conditions().parallel(n)
    out.split(o, oo, o, 1000).split(o, o, oi, 50).parallel(oo).vectorize(m, VEC).unroll(m)
    sums.compute_at(out, o).store_in(hl.MemoryType.Stack).bound(m, 0, M).vectorize(m, VEC).unroll(m)
    sums.update().split(o, o, oi, tile).reorder(m, oi, o, rn).vectorize(m, VEC).unroll(m).unroll(oi)
    gather.compute_at(sums, rn).store_in(hl.MemoryType.Stack).bound(c, 0, C).vectorize(c, VEC).unroll(c)
    product.compute_at(sums, o).bound(m, 0, M).vectorize(m, VEC).unroll(m).unroll(o)
    product.update().reorder(m, o, k).vectorize(m, VEC).unroll(m).unroll(o)
    return finish(out, inputs, (N, M), operations=2.0 * N * K * C * M)


@case
def blur():
    H, W = 3072, 4096
    data = picture(H, W)
    a = image("a", data)
    x, y, yi = hl.vars("x y yi")
    across, out = hl.Func("across"), hl.Func("out")
    edged = hl.BoundaryConditions.repeat_edge(a)
    third = hl.f32(1 / 3)
    across[x, y] = (edged[x - 1, y] + edged[x, y] + edged[x + 1, y]) * third
    out[x, y] = (across[x, y - 1] + across[x, y] + across[x, y + 1]) * third

    out.split(y, y, yi, 32).parallel(y).vectorize(x, VEC)
    across.store_at(out, y).compute_at(out, x).vectorize(x, VEC)
    return finish(out, [(a, data)], (H, W))


@case
def matmul():
    N = 1024
    left, right = uniform(1, N, N), uniform(2, N, N)
    a, b = image("a", left), image("b", right)
    x, y, yi, xi, yii = hl.vars("x y yi xi yii")
    k = hl.RDom([(0, N)], "k")
    product, out = hl.Func("product"), hl.Func("out")
    product[x, y] += a[k.x, y] * b[x, k.x]
    out[x, y] = product[x, y]

    ko, ki, z, xy = hl.RVar("ko"), hl.RVar("ki"), hl.Var("z"), hl.Var("xy")
    columns, rows = 4 * VEC if WIDE else 3 * VEC, 4
    (out.tile(x, y, xi, yi, columns, 256).split(yi, yi, yii, rows).vectorize(xi, VEC).unroll(xi).unroll(yii)
        .fuse(x, y, xy).parallel(xy))
    product.update().split(k.x, ko, ki, 512)
    part = product.update().rfactor(ko, z)
    part.compute_at(product, y).vectorize(x, VEC).unroll(x).unroll(y)
    part.update().reorder(x, y, ki).vectorize(x, VEC).unroll(x).unroll(y)
    product.compute_at(out, xy).vectorize(x, VEC).unroll(x)
    if not WIDE:  # rows of b would meet in the cache
        panel = b.in_()
        column = panel.args()[0]
        panel.compute_at(out, xy).vectorize(column, VEC).unroll(column)
    product.update().split(y, y, yi, rows).reorder(x, yi, y, ko).vectorize(x, VEC).unroll(x).unroll(yi)
    return finish(out, [(a, left), (b, right)], (N, N), operations=2.0 * N**3)


@case
def stencil_chain_3d():
    N, steps = 256, 4
    data = uniform(1, N, N, N)
    a = image("a", data)
    x, y, z, yi = hl.vars("x y z yi")
    planes, stages = [], [hl.BoundaryConditions.repeat_edge(a)]
    for t in range(1, steps + 1):
        before, step = stages[-1], hl.Func(f"step{t}")
        around = (before[x - 1, y, z] + before[x + 1, y, z] + before[x, y - 1, z] + before[x, y + 1, z]
                  + before[x, y, z - 1] + before[x, y, z + 1])
        step[x, y, z] = hl.f32(0.4) * before[x, y, z] + hl.f32(0.1) * around
        if t < steps:
            stages.append(hl.BoundaryConditions.repeat_edge(step, [hl.Range(0, N)] * 3))
            planes.append(step)
    out = step

    out.split(y, y, yi, 64).reorder(x, yi, z, y).parallel(y).vectorize(x, 8)
    for step in planes:
        step.store_at(out, y).compute_at(out, z).fold_storage(z, 5).vectorize(x, 8)
    return finish(out, [(a, data)], (N, N, N), operations=8.0 * steps * N**3)


@case
def conv_layer():
    N, CI, CO, W, H = 5, 128, 128, 100, 80
    data, taps, offsets = uniform(1, N, H + 2, W + 2, CI), uniform(2, CI, 3, 3, CO), uniform(3, CO)
    a, w, bias = image("a", data), image("w", taps), image("bias", offsets)
    x, y, c, n = hl.vars("x y c n")
    r = hl.RDom([(0, CI), (0, 3), (0, 3)], "r")
    conv, out = hl.Func("conv"), hl.Func("out")
    conv[c, x, y, n] = bias[c]
    conv[c, x, y, n] += w[c, r.y, r.z, r.x] * a[r.x, x + r.y, y + r.z, n]
    out[c, x, y, n] = hl.max(0, conv[c, x, y, n])

    columns, points = (4, 5) if WIDE else (2, 4)
    co, ci, xo, xi = hl.vars("co ci xo xi")
    (out.split(c, co, ci, VEC * columns).split(x, xo, xi, points).reorder(ci, xi, xo, y, n, co)
        .vectorize(ci, VEC).unroll(ci).unroll(xi).parallel(y).parallel(n).parallel(co))
    conv.compute_at(out, xo).vectorize(c, VEC).unroll(c).unroll(x).unroll(y)
    (conv.update().reorder(c, x, y, r.x, r.y, r.z, n).vectorize(c, VEC).unroll(c).unroll(x).unroll(y)
        .unroll(r.x, 2))
    loaded = w.in_()
    w0, _, _, w3 = loaded.args()
    loaded.compute_at(conv, r.x).vectorize(w0, VEC).unroll(w0).unroll(w3)
    a.in_().compute_at(conv, x).unroll(a.in_().args()[0])
    return finish(out, [(a, data), (w, taps), (bias, offsets)], (N, H, W, CO), operations=2.0 * N * H * W * CO * CI * 9)


H, W = 2560, 1536  # of the pictures from here on, except nl_means


def luma(a, x, y):
    return hl.f32(0.299) * a[x, y, 0] + hl.f32(0.587) * a[x, y, 1] + hl.f32(0.114) * a[x, y, 2]


@case
def unsharp():
    data = picture(3, H, W)
    a = image("a", data)
    x, y, c, yo, yi = hl.vars("x y c yo yi")
    sigma = 1.5
    taps = [hl.f32(float(np.exp(-i * i / (2 * sigma**2)) / (np.sqrt(2 * np.pi) * sigma))) for i in range(4)]
    gray, down, across, ratio, out = (hl.Func(name) for name in ("gray", "down", "across", "ratio", "out"))
    edged = hl.BoundaryConditions.repeat_edge(a)
    gray[x, y] = luma(edged, x, y)
    down[x, y] = taps[0] * gray[x, y] + sum(taps[i] * (gray[x, y - i] + gray[x, y + i]) for i in (1, 2, 3))
    across[x, y] = taps[0] * down[x, y] + sum(taps[i] * (down[x - i, y] + down[x + i, y]) for i in (1, 2, 3))
    ratio[x, y] = (2 * gray[x, y] - across[x, y]) / gray[x, y]
    out[x, y, c] = ratio[x, y] * a[x, y, c]

    (out.split(y, yo, yi, 128).bound(c, 0, 3).reorder(c, x, yi, yo).unroll(c).vectorize(x, 8).parallel(yo))
    for stage in (gray, down, ratio):
        stage.store_at(out, yo).compute_at(out, yi).vectorize(x, 8)
    return finish(out, [(a, data)], (3, H, W))


@case
def harris():
    data = picture(3, H, W)
    a = image("a", data)
    x, y, yi = hl.vars("x y yi")
    gray, across, down, out = (hl.Func(name) for name in ("gray", "across", "down", "out"))
    gray[x, y] = luma(a, x + 3, y + 3)
    one, two = hl.f32(1 / 12), hl.f32(2 / 12)
    across[x, y] = (one * (gray[x + 1, y - 1] - gray[x - 1, y - 1]) + two * (gray[x + 1, y] - gray[x - 1, y])
                    + one * (gray[x + 1, y + 1] - gray[x - 1, y + 1]))
    down[x, y] = (one * (gray[x - 1, y + 1] - gray[x - 1, y - 1]) + two * (gray[x, y + 1] - gray[x, y - 1])
                  + one * (gray[x + 1, y + 1] - gray[x + 1, y - 1]))

    def around(f, g):
        product = hl.Func("product")
        product[x, y] = f[x, y] * g[x, y]
        total = product[x, y]
        for i, j in [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]:
            total = total + product[x + i, y + j]
        return total

    xx, yy, xy = around(across, across), around(down, down), around(across, down)
    trace = xx + yy
    out[x, y] = xx * yy - xy * xy - hl.f32(0.04) * trace * trace

    out.split(y, y, yi, 128).parallel(y).vectorize(x, 2 * VEC)
    for stage in (gray, across, down):
        stage.store_at(out, y).compute_at(out, yi).vectorize(x, 2 * VEC)
    across.compute_with(down, x)
    return finish(out, [(a, data)], (H - 6, W - 6))


@case
def recursive_filter():
    data = picture(3, H, W)
    a = image("a", data)
    x, y, c = hl.vars("x y c")
    keep, take = hl.f32(0.9), hl.f32(0.1)

    def filtered(source, length):
        f = hl.Func("filtered")
        f[x, y, c] = hl.undef(hl.Float(32))
        f[x, 0, c] = source[x, 0, c]
        i = hl.RDom([(1, length - 1)]).x
        f[x, i, c] = keep * f[x, i - 1, c] + take * source[x, i, c]
        back = length - i - 1
        f[x, back, c] = keep * f[x, back + 1, c] + take * f[x, back, c]
        f.update(0).vectorize(x, VEC)
        f.update(1).reorder(x, i).vectorize(x, VEC)
        f.update(2).reorder(x, i).vectorize(x, VEC)
        return f

    columns, turned, out = hl.Func("columns"), hl.Func("turned"), hl.Func("out")
    first = filtered(a, H)
    columns[x, y, c] = first[x, y, c]
    turned[x, y, c] = columns[y, x, c]
    second = filtered(turned, W)
    out[x, y, c] = second[y, x, c]

    xo, yo, t = hl.vars("xo yo t")
    (columns.compute_root().split(x, xo, x, 64).vectorize(x, VEC).reorder(x, y, xo, c).fuse(xo, c, t).parallel(t))
    first.compute_at(columns, t)
    (out.tile(x, y, xo, yo, x, y, VEC, VEC).reorder(x, y, xo, yo, c).vectorize(y).vectorize(x)
        .fuse(yo, c, t).parallel(t))
    second.compute_at(out, t)
    turned.compute_at(out, t).tile(x, y, xo, yo, x, y, VEC, VEC).reorder(x, y, xo, yo, c).vectorize(y).vectorize(x)
    return finish(out, [(a, data)], (3, H, W))


@case
def histogram():
    data = (picture16(3, H, W) >> 8).astype(np.uint8)
    a = image("a", data, hl.UInt(8))
    x, y, c = hl.vars("x y c")
    bright, rows, total, steps, out = (hl.Func(name) for name in ("bright", "rows", "total", "steps", "out"))
    bright[x, y] = luma(a, x, y)
    rows[x, y] = 0
    rx, ry, rb = hl.RDom([(0, W)]).x, hl.RDom([(0, H)]).x, hl.RDom([(1, 255)]).x
    rows[hl.i32(hl.clamp(bright[rx, y], 0, 255)), y] += 1
    total[x] = 0
    total[x] += rows[x, ry]
    steps[x] = total[0]
    steps[rb] = steps[rb - 1] + total[rb]
    equal = hl.clamp(steps[hl.u8(hl.clamp(bright[x, y], 0, 255))] * hl.f32(255 / (H * W)), 0, 255)
    red = (a[x, y, 0] - bright[x, y]) * hl.f32(0.713)
    blue = (a[x, y, 2] - bright[x, y]) * hl.f32(0.564)
    colors = [equal + red * hl.f32(1.4), equal - hl.f32(0.343) * blue - hl.f32(0.711) * red,
              equal + hl.f32(1.765) * blue]
    out[x, y, c] = hl.mux(c, [hl.u8(hl.clamp(color, 0, 255)) for color in colors])

    counted = rows.in_()
    bright.clone_in(rows).compute_at(counted, y).vectorize(x, VEC)
    counted.compute_root().vectorize(x, VEC).parallel(y, 4)
    rows.compute_at(counted, y).vectorize(x, VEC)
    rows.update().reorder(y, rx).unroll(y)
    total.compute_root().vectorize(x, VEC)
    total.update().reorder(x, ry).vectorize(x, VEC).unroll(x, 4).parallel(x).reorder(ry, x)
    steps.bound(x, 0, 256).compute_root().update().unscheduled()
    out.reorder(c, x, y).bound(c, 0, 3).unroll(c).parallel(y, 8).vectorize(x, VEC * 4)
    return finish(out, [(a, data)], (3, H, W), np.uint8)


@case
def depthwise_separable():
    N, CI, CO, W, H = 4, 32, 16, 112, 112
    data, taps = uniform(1, N, H, W, CI), uniform(2, 3, 3, CI)
    mixing, offsets = uniform(3, CI, CO), uniform(4, CO)
    a, w = image("a", data), image("w", taps)
    point, bias = image("point", mixing), image("bias", offsets)
    d, x, y, n = hl.vars("d x y n")
    padded, depth, sums, out = (hl.Func(name) for name in ("padded", "depth", "sums", "out"))
    inside = (x >= 0) & (x < W) & (y >= 0) & (y < H)
    padded[d, x, y, n] = hl.select(inside, a[d, hl.clamp(x, 0, W - 1), hl.clamp(y, 0, H - 1), n], 0.0)
    r = hl.RDom([(0, 3), (0, 3)], "r")
    depth[d, x, y, n] += w[d, r.x, r.y] * padded[d, x + r.x - 1, y + r.y - 1, n]
    k = hl.RDom([(0, CI)], "k").x
    sums[d, x, y, n] = bias[d]
    sums[d, x, y, n] += point[d, k] * depth[k, x, y, n]
    out[d, x, y, n] = hl.max(sums[d, x, y, n], 0)

    deep, wide, high = (VEC, 4, 4) if WIDE else (2 * VEC, 3, 2)
    di, xi, yi = hl.vars("di xi yi")
    ko, ki = hl.RVar("ko"), hl.RVar("ki")
    (out.tile([d, x, y], [di, xi, yi], [deep, wide, high]).vectorize(di, VEC).unroll(di).unroll(xi).unroll(yi)
        .fuse(y, n, n).parallel(n))
    sums.compute_at(out, d).vectorize(d, VEC).unroll(d).unroll(x).unroll(y)
    (sums.update().reorder(d, x, y, k, n).vectorize(d, VEC).unroll(d).unroll(x).unroll(y)
        .split(k, ko, ki, deep))
    depth.store_in(hl.MemoryType.Stack).bound_extent(d, deep).compute_at(sums, ko)
    depth.vectorize(d, VEC).reorder(x, y, d).unroll(x).unroll(y)
    depth.update().vectorize(d, VEC).reorder(x, y, d, r.x, r.y, n).unroll(x).unroll(y)
    padded.store_in(hl.MemoryType.Stack).compute_at(sums, ko)
    padded.tile(d, x, di, xi, VEC, 4, hl.TailStrategy.RoundUp).vectorize(di).unroll(xi)
    return finish(out, [(a, data), (w, taps), (point, mixing), (bias, offsets)], (N, H, W, CO),
                  operations=2.0 * N * H * W * CI * (9 + CO))


@case
def bilateral_grid():
    size = 8
    data = picture(H, W)
    a = image("a", data)
    x, y, z, c = hl.vars("x y z c")
    edged = hl.BoundaryConditions.repeat_edge(a)
    grid, along_z, along_x, along_y, smooth, out = (
        hl.Func(name) for name in ("grid", "along_z", "along_x", "along_y", "smooth", "out"))
    r = hl.RDom([(0, size), (0, size)], "r")
    value = hl.clamp(edged[x * size + r.x - size // 2, y * size + r.y - size // 2], 0.0, 1.0)
    grid[x, y, z, c] = 0.0
    grid[x, y, hl.i32(value * hl.f32(10) + hl.f32(0.5)), c] += hl.mux(c, [value, hl.f32(1)])

    def five(at):
        return at(-2) + at(-1) * 4 + at(0) * 6 + at(1) * 4 + at(2)

    along_z[x, y, z, c] = five(lambda i: grid[x, y, z + i, c])
    along_x[x, y, z, c] = five(lambda i: along_z[x + i, y, z, c])
    along_y[x, y, z, c] = five(lambda i: along_x[x, y + i, z, c])
    depth = hl.clamp(a[x, y], 0.0, 1.0) * hl.f32(10)
    zi = hl.i32(depth)
    xf, yf, zf = hl.f32(x % size) / size, hl.f32(y % size) / size, depth - zi
    xi, yi = x // size, y // size

    def plane(zi):
        return hl.lerp(hl.lerp(along_y[xi, yi, zi, c], along_y[xi + 1, yi, zi, c], xf),
                       hl.lerp(along_y[xi, yi + 1, zi, c], along_y[xi + 1, yi + 1, zi, c], xf), yf)

    smooth[x, y, c] = hl.lerp(plane(zi), plane(zi + 1), zf)
    out[x, y] = smooth[x, y, 0] / smooth[x, y, 1]

    along_z.compute_at(along_x, y).reorder(c, z, x, y).vectorize(x, 8).unroll(c)
    grid.compute_at(along_z, y)
    grid.update().reorder(c, r.x, r.y, x, y).unroll(c)
    along_x.compute_root().reorder(c, x, z, y).parallel(y).vectorize(x, 8).unroll(c)
    (along_y.compute_at(out, y).store_in(hl.MemoryType.Stack).reorder(c, x, y, z).reorder_storage(c, z, x, y)
        .vectorize(x, 8).unroll(c))
    out.compute_root().parallel(y, 8).vectorize(x, VEC)
    return finish(out, [(a, data)], (H, W))


@case
def nl_means():
    H, W, patch, search, sigma = 1024, 614, 7, 7, 0.12
    data = picture(3, H, W)
    a = image("a", data)
    x, y, c, dx, dy = hl.vars("x y c dx dy")
    edged = hl.BoundaryConditions.repeat_edge(a)
    differ, down, across, weight, total, out = (
        hl.Func(name) for name in ("differ", "down", "across", "weight", "total", "out"))
    differ[x, y, dx, dy] = sum((edged[x, y, i] - edged[x + dx, y + dy, i]) ** 2 for i in range(3))
    window = range(-(patch // 2), patch - patch // 2)
    down[x, y, dx, dy] = sum((differ[x, y + i, dx, dy] for i in window[1:]), differ[x, y + window[0], dx, dy])
    across[x, y, dx, dy] = sum((down[x + i, y, dx, dy] for i in window[1:]), down[x + window[0], y, dx, dy])
    weight[x, y, dx, dy] = hl.fast_exp(across[x, y, dx, dy] * hl.f32(-1 / (sigma * sigma * patch * patch)))
    s = hl.RDom([(-(search // 2), search)] * 2, "s")
    shifted = [edged[x + s.x, y + s.y, i] for i in range(3)] + [hl.f32(1)]
    total[x, y, c] = 0.0
    total[x, y, c] += weight[x, y, s.x, s.y] * hl.mux(c, shifted)
    out[x, y, c] = hl.clamp(total[x, y, c] / total[x, y, 3], 0.0, 1.0)

    tx, ty = hl.vars("tx ty")
    out.reorder(c, x, y).tile(x, y, tx, ty, x, y, 32, 16).parallel(ty).vectorize(x, VEC)
    down.compute_at(out, tx).hoist_storage(out, ty).reorder(y, x).vectorize(x, VEC)
    differ.compute_at(out, tx).hoist_storage(out, ty).vectorize(x, VEC)
    total.compute_at(out, x).reorder(c, x, y).bound(c, 0, 4).unroll(c).vectorize(x, VEC)
    total.update().reorder(c, x, y, s.x, s.y).unroll(c).vectorize(x, VEC)
    across.compute_at(total, x).vectorize(x, VEC)
    return finish(out, [(a, data)], (3, H, W))


@case
def local_laplacian():
    J, levels, beta = 8, 8, 1.0
    alpha, eps = hl.f32(1 / (levels - 1)), hl.f32(0.01)
    data = picture(3, H, W)
    a = image("a", data)
    x, y, c, k, i = hl.vars("x y c k i")

    def edged(f, j):
        return hl.BoundaryConditions.repeat_edge(f, [hl.Range(0, W >> j), hl.Range(0, H >> j)])

    def reduced(f, j, *rest):
        f = edged(f, j)
        down, across = hl.Func("down"), hl.Func("across")
        readers.append(f)
        down[(x, y, *rest)] = (f[(x, 2 * y - 1, *rest)] + 3 * (f[(x, 2 * y, *rest)] + f[(x, 2 * y + 1, *rest)])
                               + f[(x, 2 * y + 2, *rest)]) / hl.f32(8)
        across[(x, y, *rest)] = (down[(2 * x - 1, y, *rest)] + 3 * (down[(2 * x, y, *rest)]
                                 + down[(2 * x + 1, y, *rest)]) + down[(2 * x + 2, y, *rest)]) / hl.f32(8)
        return across

    def enlarged(f, j, *rest):
        f = edged(f, j)
        across, down = hl.Func("across"), hl.Func("down")
        across[(x, y, *rest)] = hl.lerp(f[((x + 1) // 2, y, *rest)], f[((x - 1) // 2, y, *rest)],
                                        hl.f32((x % 2) * 2 + 1) / 4)
        down[(x, y, *rest)] = hl.lerp(across[(x, (y + 1) // 2, *rest)], across[(x, (y - 1) // 2, *rest)],
                                      hl.f32((y % 2) * 2 + 1) / 4)
        if rest:
            larger[j - 1] = down
        return down

    table, gray, out = hl.Func("table"), hl.Func("gray"), hl.Func("out")
    fi = hl.f32(i) / hl.f32(256)
    table[i] = alpha * fi * hl.exp(-fi * fi / 2)
    gray[x, y] = luma(a, x, y)
    index = hl.clamp(hl.i32(gray[x, y] * hl.f32((levels - 1) * 256)), 0, (levels - 1) * 256)
    level = hl.f32(k) * hl.f32(1 / (levels - 1))
    g = [hl.Func(f"g{j}") for j in range(J)]
    of_input = [hl.Func(f"in{j}") for j in range(J)]
    result = [hl.Func(f"result{j}") for j in range(J)]
    g[0][x, y, k] = beta * (gray[x, y] - level) + level + table[index - 256 * k]
    of_input[0][x, y] = gray[x, y]
    readers, larger = [], {}
    for j in range(1, J):
        g[j][x, y, k] = reduced(g[j - 1], j - 1, k)[x, y, k]
        of_input[j][x, y] = reduced(of_input[j - 1], j - 1)[x, y]
    for j in reversed(range(J)):
        laplacian = hl.Func("laplacian")
        laplacian[x, y, k] = g[j][x, y, k] - enlarged(g[j + 1], j + 1, k)[x, y, k] if j < J - 1 else g[j][x, y, k]
        at = of_input[j][x, y] * hl.f32(levels - 1)
        li = hl.clamp(hl.i32(at), 0, levels - 2)
        lf = at - hl.f32(li)
        mixed = (1 - lf) * laplacian[x, y, li] + lf * laplacian[x, y, li + 1]
        result[j][x, y] = enlarged(result[j + 1], j + 1)[x, y] + mixed if j < J - 1 else mixed
    out[x, y, c] = hl.clamp(a[x, y, c] * (result[0][x, y] + eps) / (gray[x, y] + eps), 0.0, 1.0)

    yo = hl.Var("yo")
    table.compute_root()
    out.reorder(c, x, y).split(y, yo, y, 64).parallel(yo).vectorize(x, 8)
    gray.compute_root().never_partition([y]).parallel(y, 32).vectorize(x, 8)
    for j in range(1, 5):
        of_input[j].compute_root().parallel(y, 32).vectorize(x, 8)
        g[j].compute_root().reorder_storage(x, k, y).reorder(k, y).split(y, yo, y, 8).parallel(yo).vectorize(x, 8)
        (result[j].store_at(out, yo).compute_at(out, y).fold_storage(y, 4)
            .vectorize(x, 8, hl.TailStrategy.RoundUp))
    g[0].clone_in(readers[0]).store_at(g[1], yo).compute_at(g[1], y).vectorize(x, 8)
    # All intensities of a row at once, in vectors: cheaper than gathering eight values a pixel.
    larger[0].compute_at(out, y).hoist_storage(out, yo).reorder_storage(x, k, y).vectorize(x, 8)
    result[0].compute_at(out, y).hoist_storage(out, yo).vectorize(x, 8, hl.TailStrategy.RoundUp)
    for j in range(5, J):
        of_input[j].compute_root()
        g[j].compute_root().parallel(k)
        result[j].compute_root()
    return finish(out, [(a, data)], (3, H, W))


def integers(seed, type, *shape):
    return (mixed(seed, np.arange(np.prod(shape, dtype=np.int64))) >> 20).astype(type).reshape(shape)


def plain_integers(type, bits):
    a_data, b_data = integers(1, type, 1024, 1024), integers(2, type, 1024, 1024)
    a, b = image("a", a_data, hl.UInt(bits)), image("b", b_data, hl.UInt(bits))
    x, y, yi = hl.vars("x y yi")
    out = hl.Func("out")
    value = a[x, y]
    for step in range(24):
        value = hl.max(hl.min(value, hl.cast(hl.UInt(bits), 200 + step)) + b[x, y], a[x, y] ^ value)
    out[x, y] = value
    out.split(y, y, yi, 64).parallel(y).vectorize(x, TARGET.natural_vector_size(hl.UInt(bits)))
    return finish(out, [(a, a_data), (b, b_data)], (1024, 1024), type)


@case
def plain_u8():
    return plain_integers(np.uint8, 8)


@case
def plain_u16():
    return plain_integers(np.uint16, 16)


@case
def median():
    data = integers(1, np.uint8, 1026, 1026)
    a = image("a", data, hl.UInt(8))
    x, y, yi = hl.vars("x y yi")
    out = hl.Func("out")

    def median_of(p, q, r):
        return hl.max(hl.min(p, q), hl.min(hl.max(p, q), r))

    low, middle, high = [], [], []
    for i in range(3):
        p, q, r = (a[x + i, y + j] for j in range(3))
        smaller, larger = hl.min(p, q), hl.max(p, q)
        low.append(hl.min(smaller, r))
        high.append(hl.max(larger, r))
        middle.append(hl.max(smaller, hl.min(larger, r)))
    out[x, y] = median_of(hl.max(hl.max(low[0], low[1]), low[2]), median_of(*middle),
                          hl.min(hl.min(high[0], high[1]), high[2]))
    out.split(y, y, yi, 64).parallel(y).vectorize(x, TARGET.natural_vector_size(hl.UInt(8)))
    return finish(out, [(a, data)], (1024, 1024), np.uint8)


@case
def mean_of_bytes():
    data = integers(1, np.uint8, 1026, 1026)
    a = image("a", data, hl.UInt(8))
    x, y, yi = hl.vars("x y yi")
    out = hl.Func("out")
    total = hl.u16(8)
    for j, down in enumerate((1, 2, 1)):
        for i, across in enumerate((1, 2, 1)):
            total = total + hl.u16(a[x + i, y + j]) * hl.u16(down * across)
    out[x, y] = hl.u8(total >> hl.u16(4))
    out.split(y, y, yi, 64).parallel(y).vectorize(x, TARGET.natural_vector_size(hl.UInt(8)))
    return finish(out, [(a, data)], (1024, 1024), np.uint8)


@case
def stencils16():
    steps, data = 8, integers(1, np.uint16, H, W)
    a = image("a", data, hl.UInt(16))
    x, y, yi = hl.vars("x y yi")
    stages = []
    for step in range(steps):
        stage = hl.Func(f"stage{step}")

        def of(j, i):
            return a[x + steps + i, y + steps + j] if step == 0 else stages[-1][x + i, y + j]

        stage[x, y] = ((of(0, 0) << hl.u16(2)) + of(-1, 0) + of(1, 0) + of(0, -1) + of(0, 1)) >> hl.u16(3)
        stages.append(stage)
    out, lanes = stages[-1], TARGET.natural_vector_size(hl.UInt(16))
    out.split(y, y, yi, 128).parallel(y).vectorize(x, lanes)
    for stage in stages[:-1]:
        stage.store_at(out, y).compute_at(out, yi).fold_storage(y, 4).vectorize(x, lanes)
    return finish(out, [(a, data)], (H - 2 * steps, W - 2 * steps), np.uint16)


# Measuring.


def measured(name):
    built = CASES[name]()
    buffers = [hl.Buffer(array) for _, array in built.inputs] + [hl.Buffer(built.result)]
    start = time.perf_counter()
    call = built.output.compile_to_callable([param for param, _ in built.inputs], TARGET)
    compile_ms = (time.perf_counter() - start) * 1e3
    times, work, begin = [], [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin < options.seconds:
        start, busy = time.perf_counter(), time.process_time()
        call(*buffers)
        times.append(time.perf_counter() - start)
        work.append(time.process_time() - busy)
    best = min(times[1:])
    if options.check:
        built.result.tofile(f"{options.check}{name}.bin")
    rate = built.operations / best / 1e9 if built.operations else None
    print(json.dumps({"bench": "pipelines", "case": name, "metric": "ms", "value": float(f"{best * 1e3:.4g}"),
                      "unit": "ms", "gflops_or_null": rate and float(f"{rate:.4g}"),
                      "compile_ms": float(f"{compile_ms:.4g}"),
                      "processor_ms": float(f"{min(work[1:]) * 1e3:.4g}")}), flush=True)
    if not options.json:
        print(f"{name:24} {best * 1e3:9.3f} ms {f'{rate:8.1f} GFLOP/s' if rate else '':17} "
              f"median of {len(times) - 1} {np.median(times[1:]) * 1e3:9.3f} ms, "
              f"processor time {min(work[1:]) * 1e3:9.3f} ms, compile {compile_ms:7.0f} ms",
              file=sys.stderr, flush=True)


if __name__ == "__main__":
    unknown = [name for name in options.names if name not in CASES]
    if unknown:
        sys.exit(f"no such pipeline: {', '.join(unknown)}; there are {', '.join(CASES)}")
    warm = hl.Func("warm")
    warm[hl.Var("x")] = 0
    warm.parallel(warm.args()[0]).realize([4], TARGET)  # compiles the runtime, which all pipelines share
    for name in options.names or CASES:
        measured(name)
