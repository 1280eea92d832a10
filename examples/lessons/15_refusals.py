"""Lesson 15 in Python. Gradients that are refused, and what to do: two kernels and their repair."""

import samite

from lesson_kernels import apart, in_place, ordered, prefix

for kernel, names in (in_place, ["x"]), (apart, ["y", "x"]), (ordered, ["y", "sum", "x"]), (prefix, ["y", "x"]):
    try:
        kernel.adjoint(*names)
        print(f"{kernel.name}: fine\n")
    except samite.UserError as error:
        print(error, end="\n\n")
