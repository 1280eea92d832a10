"""Lesson 18. JAX: a kernel and its adjoint under jit and grad, on the CPU."""

import sys

import numpy as np

from lesson_kernels import throws

try:
    import jax
except ModuleNotFoundError:
    sys.exit(77)  # the test is skipped
jax.config.update("jax_enable_x64", True)

adjoint = throws.adjoint("distance", "angle", "speed")


def run_forward(angle, speed):
    distance = np.zeros(angle.shape)
    throws(distance, np.asarray(angle), np.asarray(speed))
    return distance


def run_adjoint(angle, speed, by_distance):
    by_angle, by_speed = np.zeros(angle.shape), np.zeros(angle.shape)
    adjoint(np.zeros(angle.shape), np.asarray(angle), np.asarray(speed), np.array(by_distance), by_angle, by_speed)
    return by_angle, by_speed


@jax.custom_vjp
def distance(angle, speed):
    return jax.pure_callback(run_forward, jax.ShapeDtypeStruct(angle.shape, angle.dtype), angle, speed)


def backward(saved, by_distance):
    like = jax.ShapeDtypeStruct(by_distance.shape, by_distance.dtype)
    return jax.pure_callback(run_adjoint, (like, like), *saved, by_distance)


distance.defvjp(lambda angle, speed: (distance(angle, speed), (angle, speed)), backward)

angle, speed = jax.numpy.array([0.5, 0.7, 1.0]), jax.numpy.full(3, 10.0)
print(jax.jit(distance)(angle, speed).round(2))
far = jax.jit(jax.grad(lambda angle, speed: distance(angle, speed).sum(), argnums=(0, 1)))
for gradient in far(angle, speed):
    print(gradient.round(3))
