"""Lesson 11 in Python. Products with epilogues: a layer of a network with its bias, activation and residual."""

import numpy as np
import samite


def numbers(shape, scale):
    values = np.arange(np.prod(shape)) * 37 % 101 / 50 - 1
    return (scale * values).astype(np.float32).reshape(shape)


a, b, bias, x = numbers((70, 100), 1), numbers((100, 90), 0.1), numbers((90,), 1), numbers((70, 90), 1)

# The epilogues that networks use have names; your own are written in C++.
with samite.Tape() as tape:
    c = samite.matmul(a, b, bias=bias, residual=x, activation="silu")
tape.backward(c, np.ones_like(c))

total = bias[3] + a[5] @ b[:, 3]
print(f"c(5, 3) = {c[5, 3]:.4f}, by hand {x[5, 3] + total / (1 + np.exp(-total)):.4f}")
print(f"gradients: of b(0, 0) {tape.gradient(b)[0, 0]:.3f}, of bias(0) {tape.gradient(bias)[0]:.3f}, "
      f"of x(0, 0) {tape.gradient(x)[0, 0]:.0f}")
