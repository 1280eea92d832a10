"""Lesson 9 in Python. Records and graphs: a wave equation, launched without looking anything up."""

import numpy as np
import samite

from lesson_kernels import wave

a = np.sin(np.pi * np.arange(101) / 100)
b = a.copy()

# Checked, compiled and laid out once.
there, back = wave.record(a, b, stiffness=1.0), wave.record(b, a, stiffness=1.0)
for _ in range(25):
    there()
    back()
print(f"after  50 steps: {b[50]:6.3f}")


def steps():
    for _ in range(25):
        there()
        back()


fifty = samite.Graph(steps)
fifty()
print(f"after 100 steps: {b[50]:6.3f}")

there.set(stiffness=0.25)  # a string of half the speed
back.set(stiffness=0.25)
for i in range(50):
    fifty.set(i, there if i % 2 == 0 else back)
fifty()
print(f"after  50 slow steps: {b[50]:6.3f}")
