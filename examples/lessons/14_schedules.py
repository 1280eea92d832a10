"""Lesson 14 in Python. Schedules: one algorithm, four orders of the same work, and one result."""

import numpy as np

from lesson_kernels import blur

image = (np.arange(64 * 64) * 7 % 101).astype(np.float32).reshape(64, 64)

first = None
for name in "inline", "root", "tiles", "line buffer":
    out = np.zeros_like(image)
    blur(out, image, schedule=name)
    first = out if first is None else first
    print(f"{name}: {'the same result' if (out == first).all() else 'ANOTHER RESULT'}")
    print(blur.loop_nest(name))
