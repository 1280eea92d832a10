"""Lesson 8 in Python. Debugging: what a kernel can print and check, and what debug mode finds."""

import numpy as np
import samite

from lesson_kernels import count, pick, roots


def report(work):
    try:
        work()
    except samite.UserError as error:
        print(error, end="\n\n")


numbers, out, longer = np.float32([4, 9, -1]), np.zeros(3, np.float32), np.zeros(4, np.float32)
which, good = np.int32([1, 1, 7]), np.int32([1, 1, 2])

report(lambda: roots(out, numbers))
report(lambda: roots(longer, numbers))
report(lambda: pick(out, numbers, which, debug=True))
report(lambda: count(out, good, debug=True))
