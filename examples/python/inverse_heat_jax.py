"""What was the picture, before heat had diffused it? Found by JAX, which differentiates all steps as one program.

python inverse_heat_jax.py --size 128 --steps 16 --iterations 200
"""

import argparse
import functools

import heat_kernels
import jax
import jax.numpy as jnp
import numpy as np
import samite.jax

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--size", type=int, default=64)
parser.add_argument("--steps", type=int, default=8)
parser.add_argument("--iterations", type=int, default=100)
options = parser.parse_args()

# %% A kernel as a function of JAX: `next` is a new array like `now`, over whose extents the kernel runs.
diffuse = samite.jax.function(heat_kernels.diffuse, outputs={"next": "now"}, extents="now")


def run(guess):
    """The last field after all steps."""
    return jax.lax.scan(lambda now, _: (diffuse(now, rate=0.2), None), guess, None, length=options.steps)[0]


# %% A disc and a bar, and what is left of them after some steps.
y, x = np.mgrid[0 : 1 : 1j * options.size, 0 : 1 : 1j * options.size]
disc, bar = (x - 0.35) ** 2 + (y - 0.4) ** 2 < 0.04, (abs(x - 0.75) < 0.05) & (abs(y - 0.5) < 0.3)
truth = jnp.asarray(disc | bar, jnp.float32)
seen = run(truth)


# %% Descent with momentum.
@functools.partial(jax.jit, donate_argnums=(0, 1))
def descend(guess, speed):
    misfit, gradient = jax.value_and_grad(lambda guess: 0.5 * jnp.square(run(guess) - seen).sum())(guess)
    speed = 0.9 * speed - 0.5 * gradient
    return guess + speed, speed, misfit


guess, speed = jnp.array(seen), jnp.zeros_like(seen)
losses = []
for _ in range(options.iterations):
    guess, speed, misfit = descend(guess, speed)
    losses.append(float(misfit))

error = float(abs(guess - truth).mean() / abs(seen - truth).mean())
print(f"misfit {losses[0]:.2e} -> {losses[-1]:.2e}, {error:.0%} of the blur is left")
assert losses[-1] < losses[0] / 10
