"""What the scripts beside this one share: programs that print JSON lines, turns with them, lines with ratios."""

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


# Long enough that a GPU has the clock that it keeps under such a load.
milliseconds_of_a_turn = 20


def in_turns(bench, program, peers_of, rounds):
    """Times each case of a program that takes --turns, and its peers, in turn; prints the ratios.

    `peers_of` takes the name of a case and returns functions, by their names, that make so many calls and give the
    milliseconds of one. A first round is not counted.
    """
    with subprocess.Popen([program.resolve(), "--turns"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as run:
        def ask(word):
            run.stdin.write(word + "\n")
            run.stdin.flush()

        def own(calls):
            ask(str(calls))
            answer = run.stdout.readline()
            if not answer:
                sys.exit(f"{program} has failed")
            return float(answer)

        measured = False
        for line in run.stdout:
            if not line.startswith("{"):
                continue
            measured = True
            case = json.loads(line)["case"]
            peers = peers_of(case)
            times = {name: [] for name in ["", *peers]}
            calls = max(1, round(milliseconds_of_a_turn / own(2)))
            for _ in range(rounds + 1):
                for name, milliseconds in {"": own, **peers}.items():
                    times[name].append(milliseconds(calls))
            for name in peers:
                print_ratio(bench, case, times[""][1:], name, times[name][1:])
            ask("next")
    if run.returncode != 0 or not measured:
        sys.exit(f"{program} has {'failed' if run.returncode != 0 else 'measured nothing'}")


def milliseconds_on_device(function, calls):
    """Of one of so many calls on torch's stream."""
    import torch

    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(calls):
        function()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / calls


def milliseconds(function, calls):
    """The same, after a call that is not counted."""
    function()
    return milliseconds_on_device(function, calls)


def print_ratio(bench, case, times, peer, peer_times):
    """Of the medians of what was measured in each round."""
    value, peer_value = statistics.median(times), statistics.median(peer_times)
    print(json.dumps({"bench": bench, "case": case, "metric": "time of a launch", "value": float(f"{value:.4g}"),
                      "unit": "ms", "peer": peer, "peer_value": float(f"{peer_value:.4g}"),
                      "ratio": float(f"{peer_value / value:.4g}")}), flush=True)
