"""Lesson 18. JAX: a kernel under jit, grad and vmap."""

import sys

from lesson_kernels import throws

try:
    import jax
except ModuleNotFoundError:
    sys.exit(77)  # the test is skipped

import samite.jax

jax.config.update("jax_enable_x64", True)

# A function of JAX that returns `distance`, with the shape of `angle`. Its gradient is the kernel's adjoint.
distance = samite.jax.function(throws, outputs={"distance": "angle"}, extents="angle")

angle, speed = jax.numpy.array([0.5, 0.7, 1.0]), jax.numpy.full(3, 10.0)
print(jax.jit(distance)(angle, speed).round(2))

gradient = jax.jit(jax.grad(lambda angle, speed: distance(angle, speed).sum(), argnums=(0, 1)))
for each in gradient(angle, speed):
    print(each.round(3))

speeds = jax.numpy.array([[5.0] * 3, [20.0] * 3])
print(jax.vmap(distance, in_axes=(None, 0))(angle, speeds).round(2))
