"""Lesson 12 in Python. Attention by hand: softmax(q kᵀ / √size) v, without the matrix of weights."""

import numpy as np
import samite

from lesson_kernels import attention

rows, size, block = 192, 32, 64
q, k, v = (np.sin(seed + 0.37 * np.arange(rows * size)).astype(np.float32).reshape(rows, size) for seed in (1, 2, 3))
out = np.zeros_like(q)

attention(out, q, k, v, extents=rows // block)

ready = samite.attention(*(x.reshape(1, 1, rows, size) for x in (q, k, v)))
print("agrees with ops::attention:", "yes" if abs(out - ready[0, 0]).max() < 1e-5 else "no")

by_q, by_k, by_v = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
adjoint = attention.adjoint("out", "q", "k", "v")
adjoint(out, q, k, v, np.ones_like(out), by_q, by_k, by_v, extents=rows // block)
print(f"gradient of q(0, 0): {by_q[0, 0]:.4f}")
