"""Times softmax, its adjoint and layer norm of rows, and torch's, in turn on a GPU; prints ratios as JSON lines.

    cmake --build build/release --target bench_cuda_rows
    python3 bench/peers/against_torch_rows.py build/release/bench/cuda_rows

The Python that runs this must have torch.
"""

import argparse
import pathlib

import torch

from against import in_turns, milliseconds


def of_torch(case):
    """What times torch's operation of a case."""
    operation, extents, dtype = case.split(", ")
    rows, columns = (int(extent) for extent in extents.split(" x "))
    dtype = torch.bfloat16 if dtype == "bfloat16" else torch.float32
    x, gradient = (torch.rand(rows, columns, device="cuda").mul(2).sub(1).to(dtype) for _ in range(2))
    if operation == "softmax":
        run = lambda: torch.softmax(x, 1)
    elif operation == "softmax's adjoint":
        y = torch.softmax(x, 1)
        run = lambda: torch._softmax_backward_data(gradient, y, 1, dtype)
    else:
        weight, bias = (torch.rand(columns, device="cuda").to(dtype) for _ in range(2))
        run = lambda: torch.nn.functional.layer_norm(x, (columns,), weight, bias)
    return {f"torch {torch.__version__}": lambda calls: milliseconds(run, calls)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, help="of a build: cuda_rows")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    in_turns("against_torch_rows", options.program, of_torch, options.rounds)


if __name__ == "__main__":
    main()
