"""Lesson 3 in Python. A tape: the gradient of many launches, here of 100 steps of a ball that flies through air."""

import numpy as np
import samite

from lesson_kernels import flight, miss

state = [np.zeros(4) for _ in range(101)]  # x, y, and their velocities, at each time
loss = np.zeros(1)

velocity = np.array([5.0, 8.0])
for round in range(21):
    state[0][:] = [0, 0, *velocity]
    with samite.Tape() as tape:
        for now, next in zip(state, state[1:]):
            flight(next, now, extents=1)
        miss(loss, state[-1])
    tape.backward(loss)
    if round % 5 == 0:
        print(f"round {round:2}: misses the target by {np.sqrt(loss[0]):.4f} m")
    velocity -= 0.2 * tape.gradient(state[0])[2:]

print(f"throw it with {velocity[0]:.3f} m/s forwards and {velocity[1]:.3f} m/s upwards")
