"""Times scaled products of 8-bit matrices and torch's in turn on a GPU, and prints the ratios as JSON lines.

    cmake --build build/release --target bench_cuda_scaled_matmul
    python3 bench/peers/against_torch_scaled.py build/release/bench/cuda_scaled_matmul

The Python that runs this must have torch. Torch's product with scales of rows and columns is timed with fast
accumulation and without; that with scales by blocks where its cuBLAS has one. A GPU lowers its clock under load, so
the two take turns case by case. What a product takes of power depends on its numbers, so that they are distributed as
the program's: up to the largest number of the type.
"""

import argparse
import pathlib

import torch

from against import in_turns, milliseconds


def factor(rows, columns):
    values = torch.rand(rows, columns, device="cuda") * 2 - 1
    return (values * torch.finfo(torch.float8_e4m3fn).max).to(torch.float8_e4m3fn)


def of_torch(case):
    """What times torch's product of a case, by the kind of its sums."""
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
    peers = {}
    for kind, fast in kinds.items():
        product = lambda fast=fast: torch._scaled_mm(
            a, b, scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=fast
        )
        try:
            product()
        except (RuntimeError, ValueError) as error:
            print(f"torch refuses {case}: {str(error).splitlines()[0]}", flush=True)
            continue
        peers[f"torch {torch.__version__}{kind}"] = lambda calls, product=product: milliseconds(product, calls)
    return peers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, help="of a build: cuda_scaled_matmul")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    in_turns("against_torch_scaled", options.program, of_torch, options.rounds)


if __name__ == "__main__":
    main()
