"""Runs benchmarks on a GPU and the same kernels in Warp in turn, and prints the ratios as JSON lines.

    python3 -m venv /tmp/warp && /tmp/warp/bin/pip install warp-lang==1.19.0 numpy
    cmake --build build/release --target bench_cuda_kernels bench_cuda_tile_matmul
    /tmp/warp/bin/python bench/peers/against_warp_gpu.py build/release/bench

A case is compared where both have it: axpy, a stencil, N-body and products of f32 and f16, with their adjoints. It
clears Warp's cache of kernels, so that the time of a first launch is printed, too.
"""

import argparse
import pathlib
import sys

from against import lines, print_ratio

HERE = pathlib.Path(__file__).parent
PROGRAMS = ("cuda_kernels", "cuda_tile_matmul")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="of the benchmarks of a build")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ours, warp, first = {}, {}, {}
    for _ in range(options.rounds):
        for name in PROGRAMS:
            for line in lines([(options.folder / name).resolve()]):
                if line.get("metric") == "time of a launch":
                    ours.setdefault(line["case"], []).append(line["value"])
        for line in lines([sys.executable, str(HERE / "warp_gpu.py")]):
            warp.setdefault(line["case"], []).append(line["value"])
            first.setdefault(line["case"], []).append(line["first_launch"])
    both = [case for case in warp if case in ours]
    if not both:
        sys.exit("nothing was measured: is there a GPU?")
    for case in both:
        print_ratio("against_warp_gpu", case, ours[case], "Warp", warp[case])
        print(f"  first launch in Warp: {min(first[case])} ms", file=sys.stderr)


if __name__ == "__main__":
    main()
