"""What against_warp.py and against_torch.py share: programs that print JSON lines, and lines with the ratios."""

import json
import os
import statistics
import subprocess
import sys


def lines(command, processors=None):
    """What a program prints, on that many processors or on all."""
    every = sorted(os.sched_getaffinity(0))
    run = subprocess.run(command, capture_output=True, text=True,
                         preexec_fn=lambda: os.sched_setaffinity(0, every[:processors]))
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} has failed:\n{run.stderr}")
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]


def ours(program, processors=None):
    """Milliseconds of each case of a benchmark that prints an adjoint's time beside the forward one."""
    times = {}
    for line in lines([program.resolve()], processors):
        times[line["case"] + ", forward"] = line["peer_value"]
        times[line["case"] + ", adjoint"] = line["value"]
    return times


def print_ratio(bench, case, times, peer, peer_times):
    """Of the medians of what was measured in each round."""
    value, peer_value = statistics.median(times), statistics.median(peer_times)
    print(json.dumps({"bench": bench, "case": case, "metric": "time of a launch", "value": float(f"{value:.4g}"),
                      "unit": "ms", "peer": peer, "peer_value": float(f"{peer_value:.4g}"),
                      "ratio": float(f"{peer_value / value:.4g}")}), flush=True)
