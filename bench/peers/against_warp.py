"""Runs a benchmark and the same kernels in Warp in turn, and prints the ratios as JSON lines.

    python3 -m venv /tmp/warp && /tmp/warp/bin/pip install warp-lang==1.19.0 numpy
    cmake --build build/release --target bench_adjoint_cost bench_tile_network
    /tmp/warp/bin/python bench/peers/against_warp.py build/release/bench/adjoint_cost
    /tmp/warp/bin/python bench/peers/against_warp.py build/release/bench/tile_network

Ours runs twice in each round: on one processor, and on all that there are. Warp runs each launch on one thread of the
CPU ("processors_busy" of its lines says how many it kept busy), so that the first is the comparison of code.
"""

import argparse
import os
import pathlib
import sys

from against import lines, ours, print_ratio

HERE = pathlib.Path(__file__).parent
SCRIPTS = {"adjoint_cost": "warp_kernels.py", "tile_network": "warp_network.py"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, help=f"of a build: {' or '.join(SCRIPTS)}")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.program.name not in SCRIPTS:
        parser.error(f"{options.program.name} has nothing beside it in Warp; {' and '.join(SCRIPTS)} have")
    script = HERE / SCRIPTS[options.program.name]
    processors = len(os.sched_getaffinity(0))
    sets = sorted({1, processors})
    measured = {count: [] for count in sets}
    warp = []
    for _ in range(options.rounds):
        for count in sets:
            measured[count].append(ours(options.program, count))
        warp.append({line["case"]: line["value"] for line in
                     lines([sys.executable, str(script)], processors)})
    for case in warp[0]:
        for count in sets:
            name = f"{case}, {count} thread" + ("s" if count > 1 else "")
            print_ratio("against_warp", name, [times[case] for times in measured[count]], "Warp 1.19.0, CPU",
                        [times[case] for times in warp])


if __name__ == "__main__":
    main()
