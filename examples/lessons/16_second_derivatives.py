"""Lesson 16 in Python. Second derivatives: Newton's method finds the shape of a hanging chain in a few steps."""

import numpy as np

from lesson_kernels import chain

n = 8
height = np.full(n, -0.1)
# The tangent of the adjoint: a gradient, and its derivative along a direction.
adjoint = chain.adjoint("energy", "height")
tangent = adjoint.tangent("height", adjoint.parameters[-1].name)

for round in range(6):
    hessian = np.zeros((n, n))
    for row, direction in zip(hessian, np.eye(n)):
        gradient = np.zeros(n)
        tangent(np.zeros(1), height, np.ones(1), gradient, direction, row, extents=n + 1)
    print(f"round {round}: largest element of the gradient {abs(gradient).max():.1e}")
    height -= np.linalg.solve(hessian, gradient)

print(f"lowest at {height[n // 2]:.4f}")
