"""Calls from Python with torch's tensors on a GPU, beside torch: time of the host, and of the device. JSON lines.

    cmake --build build/release --target samite_python samite_test_kernels
    PYTHONPATH=build/release/python:build/release/tests/python/modules python3 bench/python_cuda.py

runs all parts, or those named after it: host, products, attention, groups. The Python that runs this must have torch
and see a GPU. Both sides take turns, and of each the best time counts. A GPU lowers its clock under load, so each
product is also given a rest of as many products in bfloat16.
"""

import json
import statistics
import sys
import time
from functools import partial

import samite
import samite.torch
import samite_test_kernels as kernels
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

ROUNDS = 7


def report(case, metric, value, unit, peer=None, peer_value=None):
    line = {"bench": "python_cuda", "case": case, "metric": metric, "value": float(f"{value:.4g}"), "unit": unit}
    if peer_value is not None:
        line |= {"peer": peer, "peer_value": float(f"{peer_value:.4g}"), "ratio": float(f"{peer_value / value:.4g}")}
    print(json.dumps(line), flush=True)


def microseconds_of_host(call, times=500):
    """Of a call that returns before the GPU is done; so few calls that its queue has room for all."""
    begin = time.perf_counter()
    for _ in range(times):
        call()
    passed = time.perf_counter() - begin
    torch.cuda.synchronize()
    return passed / times * 1e6


def milliseconds_of_device(call, beside, times=20):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(times):
        call()
    end.record()
    end.synchronize()
    for _ in range(times):
        beside()
    return begin.elapsed_time(end) / times


def in_turn(measure, calls):
    """The best and the median time of each of the calls by name."""
    times = {name: [] for name in calls}
    for name, call in calls.items():
        for _ in range(20):
            call()
    torch.cuda.synchronize()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            times[name].append(measure(call))
    return {name: (min(each), statistics.median(each)) for name, each in times.items()}


def compare(case, metric, unit, measure, ours, peers):
    """A line for each peer that torch has here."""
    there = {}
    for name, call in peers.items():
        try:
            call()
            torch.cuda.synchronize()
            there[name] = call
        except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            print(f"torch refuses {name} for {case}: {str(error).splitlines()[0]}", flush=True)
    times = in_turn(measure, {"samite": ours, **there})
    which = 0 if unit == "us" else 1
    for name in there:
        report(case, metric, times["samite"][which], unit, name, times[name][which])
    if not there:
        report(case, metric, times["samite"][which], unit)


@torch.library.custom_op("samite_bench::axpy", mutates_args=("y",))
def axpy(y: torch.Tensor, x: torch.Tensor, a: float) -> None:
    torch.add(y, x, alpha=a, out=y)


@torch.library.custom_op("samite_bench::added", mutates_args=())
def added(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.add(y, x)


def host():
    y, x = torch.zeros(64, dtype=torch.float64, device="cuda"), torch.ones(64, dtype=torch.float64, device="cuda")
    add = {"torch.add": lambda: torch.add(y, x, alpha=2.0, out=y), "custom op of torch": lambda: axpy(y, x, 2.0)}
    metric = "host time of a call"
    compare("two tensors", metric, "us", microseconds_of_host, lambda: kernels.axpy(y, x, 2.0), add)
    recorded = kernels.axpy.record(y, x, 2.0)
    compare("recorded", metric, "us", microseconds_of_host, recorded, add)
    multiply = samite.torch.function(kernels.multiply, outputs={"z": "x"})
    compare("function of torch", metric, "us", microseconds_of_host, lambda: multiply(x, y),
            {"custom op of torch": lambda: added(y, x), "torch.mul": lambda: torch.mul(x, y)})  # fmt: skip
    a = torch.rand(64, 64, device="cuda", dtype=torch.bfloat16)
    compare("matmul, 64 x 64", metric, "us", microseconds_of_host, lambda: samite.matmul(a, a),
            {"torch.mm": lambda: torch.mm(a, a)})  # fmt: skip
    compare("matmul of samite.torch, 64 x 64", metric, "us", microseconds_of_host, lambda: samite.torch.matmul(a, a),
            {"torch.mm": lambda: torch.mm(a, a), "custom op of torch": lambda: added(a, a)})  # fmt: skip
    compare("softmax, 64 x 64", metric, "us", microseconds_of_host, lambda: samite.softmax(a),
            {"torch.softmax": lambda: torch.softmax(a, -1)})  # fmt: skip
    q, one, half = a.to(torch.float8_e4m3fn), torch.ones(1, 1, device="cuda"), torch.bfloat16
    scale = one.reshape(())
    compare("scaled_mm, 64 x 64", metric, "us", microseconds_of_host,
            lambda: samite.scaled_mm(q, q.t(), one, one),
            {"torch._scaled_mm": lambda: torch._scaled_mm(q, q.t(), scale, scale, out_dtype=half)})  # fmt: skip


def factor(rows, columns, dtype):
    return (torch.rand(rows, columns, device="cuda") * 2 - 1).to(dtype)


def products(size=4096):
    a, b = factor(size, size, torch.bfloat16), factor(size, size, torch.bfloat16)

    def measure(call):
        return milliseconds_of_device(call, lambda: a @ b.t())

    case = f"{size} x {size} x {size}"
    metric = "time of a product"
    compare(f"matmul, bfloat16, {case}", metric, "ms", measure, lambda: samite.matmul(a, b.t()),
            {"torch.mm": lambda: torch.mm(a, b.t())})  # fmt: skip
    compare(f"matmul with gelu, bfloat16, {case}", metric, "ms", measure,
            lambda: samite.matmul(a, b.t(), activation="gelu"),
            {"torch.mm, then gelu": lambda: torch.nn.functional.gelu(torch.mm(a, b.t()))})  # fmt: skip
    a8, b8 = factor(size, size, torch.float8_e4m3fn), factor(size, size, torch.float8_e4m3fn)
    half = torch.bfloat16
    of_rows, of_columns = torch.rand(size, 1, device="cuda"), torch.rand(1, size, device="cuda")

    def scaled(of_a, of_b, fast):
        return lambda: torch._scaled_mm(a8, b8.t(), of_a, of_b, out_dtype=half, use_fast_accum=fast)

    one = torch.ones(1, 1, device="cuda")
    compare(f"scaled_mm, one scale, {case}", metric, "ms", measure, lambda: samite.scaled_mm(a8, b8.t(), one, one),
            {"torch._scaled_mm": scaled(one[0, 0], one[0, 0], False),
             "torch._scaled_mm, fast": scaled(one[0, 0], one[0, 0], True)})  # fmt: skip
    compare(f"scaled_mm, by rows, {case}", metric, "ms", measure,
            lambda: samite.scaled_mm(a8, b8.t(), of_rows, of_columns),
            {"torch._scaled_mm": scaled(of_rows, of_columns, False),
             "torch._scaled_mm, fast": scaled(of_rows, of_columns, True)})  # fmt: skip
    blocks = size // 128
    of_a = torch.rand(blocks, size, device="cuda").t()  # its first dimension lies together
    of_b = torch.rand(blocks, blocks, device="cuda").t()
    compare(f"scaled_mm, by blocks, {case}", metric, "ms", measure, lambda: samite.scaled_mm(a8, b8.t(), of_a, of_b),
            {"torch._scaled_mm": scaled(of_a, of_b, False)})  # fmt: skip
    x = factor(size, size, half)
    compare(f"softmax, bfloat16, {size} x {size}", "time of a call", "ms", measure, lambda: samite.softmax(x),
            {"torch.softmax": lambda: torch.softmax(x, -1)})  # fmt: skip
    weight, bias = torch.rand(size, device="cuda", dtype=half), torch.rand(size, device="cuda", dtype=half)
    layer_norm = torch.nn.functional.layer_norm
    compare(f"layer_norm, bfloat16, {size} x {size}", "time of a call", "ms", measure,
            lambda: samite.layer_norm(x, weight, bias),
            {"torch": lambda: layer_norm(x, (size,), weight, bias)})  # fmt: skip


def attention():
    """Forward; and backward alone, to q, k and v, from a result that is computed once."""
    a = factor(4096, 4096, torch.bfloat16)
    for shape in ((1, 16, 4096, 128), (4, 16, 2048, 128), (4, 32, 2048, 64)):
        for causal in (False, True):
            attention_of(shape, causal, lambda call: milliseconds_of_device(call, lambda: a @ a.t()))


def attention_of(shape, causal, measure):
    batches, heads, rows, size = shape
    q, k, v, g = (factor(batches * heads * rows, size, torch.bfloat16).view(shape) for _ in range(4))
    leaves = [each.detach().requires_grad_() for each in (q, k, v)]

    def by(backend, *inputs):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=causal)

    def gradients(forward):
        computed = []  # by the first call, in which torch may refuse

        def call():
            if not computed:
                computed.append(forward())
            return torch.autograd.grad(computed[0], leaves, g, retain_graph=True)

        return call

    # Those of torch's that may be the fastest on a GPU.
    backends = {"torch, cuDNN": SDPBackend.CUDNN_ATTENTION, "torch, flash": SDPBackend.FLASH_ATTENTION}
    case = f"bfloat16, {batches} x {heads} x {rows} x {size}" + (", causal" if causal else "")
    compare(f"attention, {case}", "time of a call", "ms", measure, lambda: samite.attention(q, k, v, causal=causal),
            {name: partial(by, backend, q, k, v) for name, backend in backends.items()})  # fmt: skip
    compare(f"gradients of attention, {case}", "time of a call", "ms", measure,
            gradients(lambda: samite.torch.attention(*leaves, causal=causal)),
            {name: gradients(partial(by, backend, *leaves)) for name, backend in backends.items()})  # fmt: skip


def groups(count=32, rows=16384, columns=4096, inner=2048):
    """As a mixture of experts has them: of heights that differ by up to eight times."""
    heights = torch.tensor([1 + 7 * (i * i % 11) / 10 for i in range(count)])
    ends = (heights.cumsum(0) / heights.sum() * rows).to(torch.int32).cuda()
    offsets = torch.cat((torch.zeros(1, dtype=torch.int32, device="cuda"), ends))
    a = factor(rows, inner, torch.bfloat16)
    b = factor(count * columns, inner, torch.bfloat16).view(count, columns, inner)

    def measure(call):
        return milliseconds_of_device(call, lambda: a @ b[0].t())

    case, metric = f"{count} groups, {rows} x {columns} x {inner}", "time of a product"
    compare(f"grouped_mm, bfloat16, {case}", metric, "ms", measure, lambda: samite.grouped_mm(a, b.mT, offsets),
            {"torch._grouped_mm": lambda: torch._grouped_mm(a, b.mT, offs=ends)})  # fmt: skip
    g = factor(rows, columns, torch.bfloat16)
    compare(f"grouped_mm of terms, bfloat16, {case}", metric, "ms", measure,
            lambda: samite.grouped_mm(a.t(), g, offsets),
            {"torch._grouped_mm": lambda: torch._grouped_mm(a.t(), g, offs=ends)})  # fmt: skip
    a8, b8 = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn)
    of_a, of_b = torch.rand(rows, device="cuda"), torch.rand(count, columns, device="cuda")
    compare(f"scaled_grouped_mm, by rows, {case}", metric, "ms", measure,
            lambda: samite.scaled_grouped_mm(a8, b8.mT, of_a, of_b, offsets),
            {"torch._scaled_grouped_mm, fast": lambda: torch._scaled_grouped_mm(
                a8, b8.mT, of_a, of_b, offs=ends, out_dtype=torch.bfloat16, use_fast_accum=True)})  # fmt: skip


def main():
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}", flush=True)
    parts = {"host": host, "products": products, "attention": attention, "groups": groups}
    for name in sys.argv[1:] or parts:
        parts[name]()


main()
