"""Runs scaled products of 8-bit matrices and torch's in turn on a GPU, and prints the ratios as JSON lines.

    cmake --build build/release --target bench_cuda_scaled_matmul
    python3 bench/peers/against_torch_scaled.py build/release/bench/cuda_scaled_matmul

The Python that runs this must have torch. Torch's product with scales of rows and columns is timed with fast
accumulation and without; that with scales by blocks where its cuBLAS has one. A GPU lowers its clock under load, so
each product alternates with one in bfloat16, here as in the program. What a product takes of power depends on its
numbers, so that they are distributed as the program's: in 8 bits up to the largest number of the type, and in bfloat16
with all digits.
"""

import argparse
import pathlib
import statistics

import torch

from against import lines, print_ratio


def milliseconds(function, beside=lambda: None, rounds=9, calls=10):
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            function()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / calls)
        for _ in range(calls):
            beside()
    return statistics.median(times)


def numbers(rows, columns):
    return torch.rand(rows, columns, device="cuda") * 2 - 1


def factor(rows, columns):
    return (numbers(rows, columns) * torch.finfo(torch.float8_e4m3fn).max).to(torch.float8_e4m3fn)


def of_torch(case):
    """What torch takes for a case, by its name and the kind of its sums."""
    extents, scales = case.split(", ", 1)
    rows, columns, inner = (int(extent) for extent in extents.split(" x "))
    a, b = factor(rows, inner), factor(columns, inner).t()
    if scales == "scales by blocks of 128":
        scale_a = torch.rand(inner // 128, rows, device="cuda").t()  # its first dimension lies together
        scale_b = torch.rand(columns // 128, inner // 128, device="cuda").t()
        kinds = {"": False}
    else:
        scale_a, scale_b = torch.rand(rows, 1, device="cuda"), torch.rand(1, columns, device="cuda")
        kinds = {", fast": True, ", accurate": False}
    in_halves = [numbers(extent, inner).to(torch.bfloat16) for extent in (rows, columns)]
    times = {}
    for kind, fast in kinds.items():
        product = lambda: torch._scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=fast)
        try:
            product()
        except (RuntimeError, ValueError) as error:
            print(f"torch refuses {case}: {str(error).splitlines()[0]}", flush=True)
            continue
        times[f"torch {torch.__version__}{kind}"] = milliseconds(product, lambda: in_halves[0] @ in_halves[1].t())
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, help="of a build: cuda_scaled_matmul")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    measured, theirs = {}, {}
    for _ in range(options.rounds):
        for line in lines([options.program.resolve()]):
            measured.setdefault(line["case"], []).append(line["value"])
        for case in measured:
            for peer, time in of_torch(case).items():
                theirs.setdefault((case, peer), []).append(time)
    if not measured:
        parser.error(f"{options.program} has measured nothing on a GPU")
    for (case, peer), times in theirs.items():
        print_ratio("against_torch_scaled", case, measured[case], peer, times)


if __name__ == "__main__":
    main()
