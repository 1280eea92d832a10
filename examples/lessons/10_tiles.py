"""Lesson 10 in Python. Tiles: rows brought to mean 0 and variance 1, one row for each block."""

import numpy as np

from lesson_kernels import standardise, transpose

x = (np.arange(50 * 128) * 37 % 101).astype(np.float32).reshape(50, 128)
y, z = np.zeros_like(x), np.zeros((128, 50), np.float32)

standardise(y, x, extents=50)  # 50 blocks
transpose(z, y, extents=(2, 4))  # 2 by 4 blocks of 32 by 32; the last ones reach beyond the 50 rows

print(f"row 7: mean {abs(z[:, 7].mean()):.3f}, variance {z[:, 7].var():.3f}")

by_y, by_x = np.zeros_like(x), np.zeros_like(x)
by_y[:, 0] = 1  # of the sum of the first column
standardise.adjoint("y", "x")(y, x, by_y, by_x, extents=50)
print(f"d y(7, 0) / d x(7, 0) = {by_x[7, 0]:.5f}, / d x(7, 1) = {by_x[7, 1]:.5f}")
