"""Lesson 13 in Python. Pipelines: what an image filter computes, without saying in which order."""

import numpy as np

from lesson_kernels import sharpen

# A picture of discs with soft edges.
y, x = np.mgrid[0:128, 0:128] % 32 - 16
picture = np.clip(0.8 - np.hypot(y, x) / 20, 0.1, 0.6).astype(np.float32)

sharpened = np.zeros_like(picture)
sharpen(sharpened, picture, amount=4)

print(f"brightness from {sharpened.min():.2f} to {sharpened.max():.2f}, before from 0.10 to 0.60")
print(sharpen.loop_nest(), end="")
