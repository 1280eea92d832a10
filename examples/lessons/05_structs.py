"""Lesson 5 in Python. Structs and vectors: balls that fall through wind and bounce off the floor."""

import numpy as np

from lesson_kernels import move

balls = np.array([[0, 0, 1, 2, 0, 0], [0, 0, 5, 0, 0, 0]], np.float32)  # rows: the place, then the velocity

for step in range(200):
    move(balls, dt=0.01, wind=(0, 3, 0), extents=2)

for i, (x, y, z, *_) in enumerate(balls):
    print(f"ball {i} is at ({x:.2f}, {y:.2f}, {z:.2f})")
