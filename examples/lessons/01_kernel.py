"""Lesson 1 in Python. A kernel: a swing that dies down, computed at many times at once."""

import numpy as np

from lesson_kernels import swing

time = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
angle = np.zeros(5)

swing(angle, time, damping=0.5)

for value in angle:
    print(f"{value:.4f}")
