"""Lesson 4 in Python. Fields and boundary conditions: heat in a plate with fixed, insulated and periodic edges."""

import numpy as np

from lesson_kernels import fixed, insulated, periodic

for step in fixed, insulated, periodic:
    now, next = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    now[2:12, 2:12] = 1  # a warm square near one corner
    for _ in range(150):
        step(next, now)
        now, next = next, now
    print(f"{step.name:9}: {now.sum() / 100:.2f} of the heat is left")
