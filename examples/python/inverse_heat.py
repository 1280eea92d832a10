"""What was the picture, before heat had diffused it? Found by descent along the gradient of all steps.

With NumPy alone: forward and backward steps are recorded once and launched again and again.

    python inverse_heat.py --size 128 --steps 16 --iterations 200 --picture heat.png
"""

import argparse

import heat_kernels
import numpy as np

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--size", type=int, default=64)
parser.add_argument("--steps", type=int, default=8)
parser.add_argument("--iterations", type=int, default=100)
parser.add_argument("--picture", help="a PNG to draw, where matplotlib is installed")
options = parser.parse_args()
RATE = 0.2

# %% A disc and a bar, and what is left of them after some steps.
shape = (options.size, options.size)
y, x = np.mgrid[0:1:1j * options.size, 0:1:1j * options.size]
truth = (((x - 0.35) ** 2 + (y - 0.4) ** 2 < 0.04) | ((abs(x - 0.75) < 0.05) & (abs(y - 0.5) < 0.3))).astype(np.float32)

fields = [np.zeros(shape, np.float32) for _ in range(options.steps + 1)]
gradients = [np.zeros(shape, np.float32) for _ in fields]
forward = [
    heat_kernels.diffuse.record(next, now, rate=RATE, extents=shape) for now, next in zip(fields, fields[1:])
]

# %% The adjoint is a kernel, whose arguments are the kernel's and a gradient for each array.
adjoint = heat_kernels.diffuse.adjoint("next", "now")
backward = [
    adjoint.record(fields[i + 1], fields[i], RATE, gradients[i + 1], gradients[i], extents=shape)
    for i in reversed(range(options.steps))
]


def run(guess):
    """The last field after all steps."""
    fields[0][:] = guess
    for step in forward:
        step()
    return fields[-1]


seen = run(truth).copy()

# %% Descent with momentum.
guess, speed = seen.copy(), np.zeros(shape, np.float32)
losses = []
for _ in range(options.iterations):
    misfit = run(guess) - seen
    losses.append(float(np.square(misfit).mean()))
    for gradient in gradients:
        gradient[:] = 0
    gradients[-1][:] = misfit
    for step in backward:
        step()
    speed = 0.9 * speed - 0.5 * gradients[0]
    guess += speed

error = float(np.abs(guess - truth).mean() / np.abs(seen - truth).mean())
print(f"misfit {losses[0]:.2e} -> {losses[-1]:.2e}, {error:.0%} of the blur is left")
assert losses[-1] < losses[0] / 10

# %% A picture.
if options.picture:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 4, figsize=(14, 3.5))
    for axis, (title, field) in zip(axes, {"truth": truth, "seen": seen, "found": guess}.items()):
        axis.imshow(field, vmin=0, vmax=1, cmap="inferno")
        axis.set_title(title)
        axis.axis("off")
    axes[3].semilogy(losses)
    axes[3].set(title="misfit", xlabel="iteration")
    figure.savefig(options.picture, dpi=120)
