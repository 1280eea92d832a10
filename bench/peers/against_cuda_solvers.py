"""Times scans, sorts, sparse products, conjugate gradients and Adam, and CUB, cuSPARSE, cuBLAS and torch, in turn on a
GPU; prints ratios as JSON lines.

    cmake --build build/release --target bench_cuda_solve
    python3 bench/peers/against_cuda_solvers.py build/release/bench/cuda_solve

Needs nvcc, with which it compiles cuda_solvers.cu, and torch for Adam.
"""

import argparse
import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile

from against import in_turns, milliseconds


def compiled(folder):
    """The peers as a library."""
    library = pathlib.Path(folder) / "peers.so"
    source = pathlib.Path(__file__).with_name("cuda_solvers.cu")
    build = subprocess.run(["nvcc", "-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-w",
                            "-o", library, source, "-lcusparse", "-lcublas"], capture_output=True, text=True)
    if build.returncode != 0:
        sys.exit(f"nvcc has failed:\n{build.stdout}{build.stderr}")
    peers = ctypes.CDLL(library)
    peers.run.restype = ctypes.c_double
    return peers


def peer_of(case, peers):
    """The name of a case's peer, and what times it."""
    what, *_, dtype = case.split(", ")
    numbers = [int(number) for number in re.findall(r"\d+", case)]
    is_double = int(dtype == "double")
    if what in ("scan", "reduce", "sort of pairs"):
        getattr(peers, "prepare_" + what.split()[0])(numbers[1])
        return "CUB", peers.run
    if what == "product with a Laplacian":
        peers.prepare_laplacian(numbers[0], is_double)
        return "cuSPARSE", peers.run
    if what == "product with 3 x 3 blocks":
        peers.prepare_elasticity(numbers[2], is_double)
        return "cuSPARSE", peers.run
    if what == "conjugate gradients":
        peers.prepare_cg(numbers[1], numbers[0], is_double)
        return "cuSPARSE and cuBLAS", peers.run
    return adam(*numbers)


def adam(count, extent):
    import torch

    parameters = [torch.rand(extent, device="cuda", requires_grad=True) for _ in range(count)]
    for parameter in parameters:
        parameter.grad = torch.rand_like(parameter)
    optimiser = torch.optim.Adam(parameters, fused=True)
    return f"torch {torch.__version__}, fused", lambda calls: milliseconds(optimiser.step, calls)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, help="of a build: cuda_solve")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        peers = compiled(folder)
        in_turns("against_cuda_solvers", options.program, lambda case: dict([peer_of(case, peers)]), options.rounds)


if __name__ == "__main__":
    main()
