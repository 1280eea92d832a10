"""Lesson 17. Python and torch: pushes that swing a pendulum to the top, by torch's gradients through 100 time steps."""

import math
import sys

from lesson_kernels import pendulum

try:
    import torch
except ModuleNotFoundError:
    sys.exit(77)  # the test is skipped

import samite.torch

# A function of torch that allocates `after`, with the shape of `before`. Its gradient is the kernel's adjoint.
step = samite.torch.function(pendulum, outputs={"after": "before"}, extents="push")

start = torch.zeros(2, dtype=torch.float64)  # one pendulum at rest: its angle, then its speed
push = torch.zeros(100, 1, dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.Adam([push], lr=0.02)

for round in range(201):
    state = start
    for each in push:
        state = step(state, each)
    angle, speed = state
    loss = (angle - math.pi) ** 2 + speed**2 + 0.001 * push.square().sum()
    if round % 50 == 0:
        print(f"round {round:3}: at the end {math.degrees(angle.item()):5.1f} degrees")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
