"""Lesson 7 in Python. Randomness: the expected price of a choice that depends on chance, and its gradient."""

import numpy as np

from lesson_kernels import demand, profit

# A newsagent buys `order` papers at 1 and sells min(order, demand) of them at 3. The demand is normally distributed.
samples = 100_000
order = np.array([80.0])
adjoint = profit.adjoint("mean", "order")

for step in range(61):
    mean, gradient = np.zeros(1), np.zeros(1)
    profit(mean, order, seed=1, extents=samples)
    adjoint(mean, order, 1, np.ones(1), gradient, extents=samples)  # draws the same numbers again
    if step % 20 == 0:
        print(f"order {order[0]:6.1f}: profit {mean[0]:.1f}, gradient {gradient[0]:6.3f}")
    order += 3 * gradient

first = np.zeros(1)
demand(first, seed=1)
print(f"the first demand: {first[0]:.4f}")
