"""Lesson 6 in Python. Atomics and reductions: a histogram, a mean and the largest value, and the gradient of the mean."""

import numpy as np

from lesson_kernels import histogram, largest, mean

x = (0.5 + 0.5 * np.sin(0.01 * np.arange(10_000))).astype(np.float32)
bins, total, most = np.zeros(5, np.int32), np.zeros(1, np.float32), np.zeros(1, np.float32)

# The first array that a kernel writes is shorter than the launch, so that its extents are named.
histogram(bins, x, extents=len(x))
mean(total, x, extents=len(x))
largest(most, x, extents=len(x))
print(*bins)
print(f"mean {total[0]:.4f}, largest {most[0]:.4f}")

gradient = np.zeros_like(x)
mean.adjoint("out", "x")(total, x, np.ones(1, np.float32), gradient, extents=len(x))
print(f"d mean / d x(0) = {gradient[0]:g}")
