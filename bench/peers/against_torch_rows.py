"""Times softmax, norms, cross entropy and rotary embedding, and torch's, in turn on a GPU; prints ratios as JSON lines.

    cmake --build build/release --target bench_cuda_rows
    python3 bench/peers/against_torch_rows.py build/release/bench/cuda_rows

The Python that runs this must have torch.
"""

import argparse
import pathlib

import torch

from against import in_turns, milliseconds


F = torch.nn.functional


def of_torch(case):
    """What times torch's operation of a case."""
    operation, extents, dtype = case.split(", ")
    extents = [int(extent) for extent in extents.split(" x ")]
    columns = extents[-1]
    dtype = torch.bfloat16 if dtype == "bfloat16" else torch.float32
    x, gradient = (torch.rand(extents, device="cuda").mul(2).sub(1).to(dtype) for _ in range(2))
    weight, bias = (torch.rand(columns, device="cuda").to(dtype) for _ in range(2))
    if operation == "softmax":
        run = lambda: torch.softmax(x, 1)
    elif operation == "softmax's adjoint":
        y = torch.softmax(x, 1)
        run = lambda: torch._softmax_backward_data(gradient, y, 1, dtype)
    elif operation == "rms norm":
        run = lambda: F.rms_norm(x, (columns,), weight, 1e-6)
    elif operation == "rms norm's adjoint":
        run = backward(lambda x, weight: F.rms_norm(x, (columns,), weight, 1e-6), gradient, x, weight)
    elif operation.startswith("cross entropy"):
        targets = torch.arange(extents[0], device="cuda") * 7919 % columns
        run = lambda: F.cross_entropy(x, targets)
        if operation.endswith("gradient"):
            x.requires_grad_()
            run = lambda: torch.autograd.grad(F.cross_entropy(x, targets), x)
    elif operation.startswith("group norm"):
        groups = int(operation.split()[-2])
        weight, bias = (torch.rand(extents[1], device="cuda").to(dtype) for _ in range(2))
        run = lambda: F.group_norm(x, groups, weight, bias)
        if "adjoint" in operation:
            run = backward(lambda x, weight, bias: F.group_norm(x, groups, weight, bias), gradient, x, weight, bias)
    elif operation.startswith("rotary"):
        run = rotary(x, operation.endswith("interleaved"))
    else:
        run = lambda: F.layer_norm(x, (columns,), weight, bias)
    return {f"torch {torch.__version__}": lambda calls: milliseconds(run, calls)}


def backward(function, gradient, *arguments):
    """The gradients alone, of a graph that is kept."""
    arguments = [argument.requires_grad_() for argument in arguments]
    y = function(*arguments)
    return lambda: torch.autograd.grad(y, arguments, gradient, retain_graph=True)


def rotary(x, interleaved):
    """As one kernel of torch.compile, since torch has no such operation."""
    cosines, sines = (torch.rand(x.shape[-2], x.shape[-1] // 2, device="cuda").to(x.dtype) for _ in range(2))

    def turn(x):
        first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
        turned = first * cosines - second * sines, second * cosines + first * sines
        return torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)

    compiled = torch.compile(turn)
    return lambda: compiled(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, help="of a build: cuda_rows")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    in_turns("against_torch_rows", options.program, of_torch, options.rounds)


if __name__ == "__main__":
    main()
