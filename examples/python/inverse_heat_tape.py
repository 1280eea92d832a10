"""What was the picture, before heat had diffused it? Found with a tape, and kernels that are compiled as the program
starts: it needs no build of its own.

    python inverse_heat_tape.py --size 128 --steps 16 --iterations 200
"""

import argparse
import pathlib

import numpy as np
import samite

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--size", type=int, default=64)
parser.add_argument("--steps", type=int, default=8)
parser.add_argument("--iterations", type=int, default=100)
options = parser.parse_args()

# %% Compiled at the first run, and kept.
heat_kernels = samite.load(pathlib.Path(__file__).parent / "heat_kernels.cpp")

# %% A disc and a bar, and what is left of them after some steps.
shape = (options.size, options.size)
y, x = np.mgrid[0 : 1 : 1j * options.size, 0 : 1 : 1j * options.size]
truth = (((x - 0.35) ** 2 + (y - 0.4) ** 2 < 0.04) | ((abs(x - 0.75) < 0.05) & (abs(y - 0.5) < 0.3))).astype(np.float32)
fields = [np.zeros(shape, np.float32) for _ in range(options.steps + 1)]


def run(guess):
    """The last field after all steps."""
    fields[0][:] = guess
    for now, next in zip(fields, fields[1:]):
        heat_kernels.diffuse(next, now, rate=0.2)
    return fields[-1]


seen = run(truth).copy()

# %% Descent with momentum.
guess, speed = seen.copy(), np.zeros(shape, np.float32)
losses = []
for _ in range(options.iterations):
    with samite.Tape() as tape:
        last = run(guess)
    misfit = last - seen
    losses.append(float(np.square(misfit).mean()))
    tape.backward(last, misfit)
    speed = 0.9 * speed - 0.5 * tape.gradient(fields[0])
    guess += speed

error = float(np.abs(guess - truth).mean() / np.abs(seen - truth).mean())
print(f"misfit {losses[0]:.2e} -> {losses[-1]:.2e}, {error:.0%} of the blur is left")
assert losses[-1] < losses[0] / 10
