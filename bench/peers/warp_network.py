"""The network of bench/tile_network in Warp, by tiles on its CPU device: prints a JSON line for each direction.

As warp_kernels.py. The loss and the gradients are compared with NumPy's in double before anything is timed. Blocks of
ROWS x COLUMNS are the fastest of several that were tried.
"""

import numpy as np
import warp as wp

from network_numbers import EXAMPLES, HIDDEN, INPUTS, NAME, OUTPUTS, check, expected, numbers
from warp_kernels import F2, Chain, array, report

ROWS, COLUMNS = 64, 32


def layer(terms, curved):
    """x W + b, of so many terms each, and their tangents hyperbolic where it is curved."""

    @wp.kernel(module="unique")
    def sums(y: F2, x: F2, weights: F2, bias: F2):
        i, j = wp.tid()
        rows = wp.tile_load(x, shape=(ROWS, terms), offset=(i * ROWS, 0))
        columns = wp.tile_load(weights, shape=(terms, COLUMNS), offset=(0, j * COLUMNS))
        shift = wp.tile_load(bias, shape=(1, COLUMNS), offset=(0, j * COLUMNS))
        result = wp.tile_matmul(rows, columns) + wp.tile_broadcast(shift, shape=(ROWS, COLUMNS))
        if wp.static(curved):
            wp.tile_store(y, wp.tile_map(wp.tanh, result), offset=(i * ROWS, j * COLUMNS))
        else:
            wp.tile_store(y, result, offset=(i * ROWS, j * COLUMNS))

    return sums


@wp.kernel
def mean_square(loss: wp.array(dtype=float), y: F2, wanted: F2, scale: float):
    i = wp.tid()
    difference = wp.tile_load(y, shape=(ROWS, OUTPUTS), offset=(i * ROWS, 0)) - wp.tile_load(
        wanted, shape=(ROWS, OUTPUTS), offset=(i * ROWS, 0))
    wp.tile_atomic_add(loss, wp.tile_sum(wp.tile_map(wp.mul, difference, difference)) * scale, offset=0)


def network():
    values = numbers()
    x, weights1, bias1, weights2, bias2, wanted = map(array, values)
    # Ours computes no gradients of the data either.
    x.requires_grad = wanted.requires_grad = False
    between, y = array(np.zeros((EXAMPLES, HIDDEN))), array(np.zeros((EXAMPLES, OUTPUTS)))
    loss = array(np.zeros(1))
    chain, blocks = Chain(), EXAMPLES // ROWS
    tiled = {"launch": wp.launch_tiled, "block_dim": 64}
    chain.add(layer(INPUTS, curved=True), (blocks, HIDDEN // COLUMNS), [between], [x, weights1, bias1], **tiled)
    chain.add(layer(HIDDEN, curved=False), (blocks, OUTPUTS // COLUMNS), [y], [between, weights2, bias2], **tiled)
    chain.add(mean_square, (blocks,), [loss], [y, wanted, 1.0 / (EXAMPLES * OUTPUTS)], **tiled)
    chain.run()
    chain.prepare([loss])
    chain.run_adjoint()
    check((loss.numpy()[0], weights1.grad.numpy(), weights2.grad.numpy()), expected(*values))
    return f"{NAME}, CPU", chain, [loss]


if __name__ == "__main__":
    report(__doc__, [network()])
