"""The network of bench/tile_network.cpp: its sizes, its numbers, and what NumPy computes of them in double."""

import numpy as np

EXAMPLES, INPUTS, HIDDEN, OUTPUTS = 4096, 256, 256, 64
NAME = f"network of {INPUTS}, {HIDDEN} and {OUTPUTS}, {EXAMPLES} examples"


def waves(rows, columns, down, along, height):
    """The same numbers as in bench/tile_network.cpp."""
    i, j = np.mgrid[0:rows, 0:columns]
    return (height * np.sin(down * i + along * j)).astype(np.float32)


def numbers():
    """Examples, weights and bias of both layers, and the outputs that are wanted."""
    return [waves(EXAMPLES, INPUTS, 0.37, 1.3, 1), waves(INPUTS, HIDDEN, 0.7, 1.9, 0.06), waves(1, HIDDEN, 0, 1, 0.1),
            waves(HIDDEN, OUTPUTS, 1.1, 0.3, 0.06), waves(1, OUTPUTS, 0, 2, 0.1),
            waves(EXAMPLES, OUTPUTS, 0.05, 0.4, 1)]


def expected(x, weights1, bias1, weights2, bias2, wanted):
    """The loss, and its gradients with respect to the weights of both layers."""
    between = np.tanh(x.astype(np.float64) @ weights1 + bias1)
    difference = between @ weights2 + bias2 - wanted
    by_y = 2 * difference / difference.size
    by_between = by_y @ weights2.T * (1 - between * between)
    return (difference**2).mean(), x.T @ by_between, between.T @ by_y


def check(results, right, tolerance=1e-4):
    """That arrays are as `expected` says, but for so much of the largest element."""
    for own, wanted in zip(results, right, strict=True):
        assert np.abs(own - wanted).max() <= tolerance * np.abs(wanted).max()
