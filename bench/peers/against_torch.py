"""Runs the network of a build on a GPU and the same in torch in turn, and prints the ratios as JSON lines.

    cmake --build build/release --target bench_tile_network
    python3 bench/peers/against_torch.py build/release/bench/tile_network

The Python that runs this must have torch and NumPy. Both sides multiply in f32 and in tf32, launch by launch and as
graphs, where the GPU does not wait for the host. As torch runs an adjoint in a graph with what it is of alone,
"forward and adjoint" is for ours the sum of both.
"""

import argparse
import pathlib
import sys

from against import lines, ours, print_ratio

SCRIPT = pathlib.Path(__file__).parent / "torch_network.py"


def ours_on_cuda(program):
    times = {}
    for case, value in ours(program).items():
        network, direction = case.rsplit(", ", 1)
        if ", CUDA" in network:
            times[case] = value
            both = f"{network}, forward and adjoint"
            times[both] = times.get(both, 0) + value
    return times


def case_of(line):
    """As ours names it, with the arithmetic."""
    return line["case"].replace(", CUDA", ", CUDA in tf32") if line["arithmetic"] == "tf32" else line["case"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, help="of a build: tile_network")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    measured, torch = [], []
    for _ in range(options.rounds):
        measured.append(ours_on_cuda(options.program))
        if not measured[-1]:
            parser.error(f"{options.program} has measured nothing on a GPU")
        torch.append({(case_of(line), f"torch {line['version']}, {line['arithmetic']}"): line["value"]
                      for line in lines([sys.executable, str(SCRIPT)])})
    for case, peer in torch[0]:
        print_ratio("against_torch", case, [times[case] for times in measured], peer,
                    [times[case, peer] for times in torch])


if __name__ == "__main__":
    main()
