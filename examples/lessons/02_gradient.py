"""Lesson 2 in Python. Its gradient: how the distance that a ball flies depends on the angle and the speed."""

import numpy as np

from lesson_kernels import throws

angle, speed = np.array([0.5, 0.7, 1.0]), np.full(3, 10.0)
distance = np.zeros(3)
throws(distance, angle, speed)

# The adjoint is a kernel of its own: its arguments are the kernel's, then a gradient for each of the named ones.
adjoint = throws.adjoint("distance", "angle", "speed")
by_distance, by_angle, by_speed = np.ones(3), np.zeros(3), np.zeros(3)
adjoint(distance, angle, speed, by_distance, by_angle, by_speed)

for i in range(3):
    print(f"{distance[i]:.2f} m, by angle {by_angle[i]:7.3f}, by speed {by_speed[i]:.3f}")
