"""Times products of groups of rows and of groups of terms, and torch's, in turn on a GPU; prints ratios as JSON lines.

    cmake --build build/release --target bench_cuda_grouped_matmul
    python3 bench/peers/against_torch_grouped.py build/release/bench/cuda_grouped_matmul

The Python that runs this must have torch. What torch does not have of torch._grouped_mm and torch._scaled_grouped_mm,
or refuses, is said and left out. The heights of the groups are those of the program's.
"""

import argparse
import pathlib

import torch

from against import in_turns, milliseconds


def offsets_of(groups, rows):
    """Where each group ends: uneven heights, some of them zero."""
    chance = torch.Generator().manual_seed(9)
    shares = torch.rand(groups, generator=chance) * 2 + 0.25
    shares[7::8] = 0
    ends = torch.round(shares.cumsum(0) / shares.sum() * rows).to(torch.int32)
    ends[-1] = rows
    return ends.cuda()


def of_torch(case):
    """What times torch's product of a case."""
    if " terms in " in case:
        return of_torch_terms(case)
    extents, groups, dtype = case.split(", ")
    rows, columns, inner = (int(extent) for extent in extents.split(" x "))
    groups = int(groups.split()[0])
    ends = offsets_of(groups, rows)
    a, b = torch.rand(rows, inner, device="cuda") - 0.5, torch.rand(groups, columns, inner, device="cuda") - 0.5
    if dtype == "bfloat16":
        left, right = a.bfloat16(), b.bfloat16().transpose(-1, -2).contiguous()
        product = lambda: torch._grouped_mm(left, right, offs=ends, out_dtype=torch.bfloat16)
    else:
        left, right = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn).transpose(-1, -2)
        scale_a, scale_b = torch.rand(rows, device="cuda"), torch.rand(groups, columns, device="cuda")
        product = lambda: torch._scaled_grouped_mm(
            left, right, scale_a, scale_b, offs=ends, out_dtype=torch.bfloat16, use_fast_accum=True
        )
    return timed(product, case)


def of_torch_terms(case):
    extents, terms, _ = case.split(", ")
    rows, columns = (int(extent) for extent in extents.split(" x "))
    terms, groups = (int(word) for word in terms.split() if word.isdigit())
    ends = offsets_of(groups, terms)
    a = (torch.rand(terms, rows, device="cuda") - 0.5).bfloat16()
    b = (torch.rand(terms, columns, device="cuda") - 0.5).bfloat16()
    return timed(lambda: torch._grouped_mm(a.t(), b, offs=ends, out_dtype=torch.bfloat16), case)


def timed(product, case):
    try:
        product()
    except (AttributeError, RuntimeError, ValueError) as error:
        print(f"torch refuses {case}: {str(error).splitlines()[0]}", flush=True)
        return {}
    return {f"torch {torch.__version__}": lambda calls: milliseconds(product, calls)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, help="of a build: cuda_grouped_matmul")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    in_turns("against_torch_grouped", options.program, of_torch, options.rounds)


if __name__ == "__main__":
    main()
