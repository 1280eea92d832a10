"""The network of bench/tile_network in torch, on a GPU: prints a JSON line for each direction, called and as graphs.

Products are of float32 throughout ("f32"), and then once more of factors that are rounded to tf32. Times are those of
the device, medians over the rounds, in milliseconds. The calls of a round follow each other, so that what Python and
torch do on the host shows only where it takes longer than the device; in a CUDA graph, which is replayed, nearly
nothing of it is left. The loss and the gradients are compared with NumPy's in double before anything is timed.
"""

import argparse
import json
import statistics

import torch
from torch.nn.functional import mse_loss

from against import milliseconds_on_device
from network_numbers import NAME, check, expected, numbers

# The largest errors, as parts of the largest element: tf32 has 10 bits behind the point.
TOLERANCES = {"f32": 1e-4, "tf32": 2e-2}
CALLS = 20


class Network:
    def __init__(self, values):
        x, weights1, bias1, weights2, bias2, wanted = (torch.tensor(value, device="cuda") for value in values)
        self.x, self.wanted = x, wanted
        # A bias of one dimension is added by the product that it belongs to.
        self.parameters = [weights1, weights2, bias1.reshape(-1), bias2.reshape(-1)]
        for parameter in self.parameters:
            parameter.requires_grad_()

    def forward(self):
        weights1, weights2, bias1, bias2 = self.parameters
        between = torch.tanh(torch.addmm(bias1, self.x, weights1))
        return mse_loss(torch.addmm(bias2, between, weights2), self.wanted)

    def gradients(self, loss, again=False):
        """Of all parameters, as they are: nothing is added to those of an earlier call."""
        return torch.autograd.grad(loss, self.parameters, retain_graph=again)

    def both(self):
        loss = self.forward()
        return [loss.detach(), *self.gradients(loss)]


def require(results, right, tolerance):
    """Of the loss and the gradients of the weights."""
    check([result.cpu().numpy() for result in results[:3]], right, tolerance)


def milliseconds(work, rounds):
    times = [milliseconds_on_device(work, CALLS) for _ in range(rounds + 3)]  # of which the first ones warm up
    return statistics.median(times[3:])


def called(network, rounds):
    loss = network.forward()
    return {"forward": milliseconds(network.forward, rounds),
            "adjoint": milliseconds(lambda: network.gradients(loss, again=True), rounds),
            "forward and adjoint": milliseconds(network.both, rounds)}


def captured(work):
    """A graph of the work, and the results that each replay computes anew."""
    # Libraries prepare themselves outside of a capture, and not on the default stream.
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = work()
    return graph, results


def as_graphs(network, rounds, right, tolerance):
    # Detached: what autograd knows of a captured loss is of no use outside of the capture.
    forward, loss = captured(lambda: [network.forward().detach()])
    both, results = captured(network.both)
    forward.replay()
    both.replay()
    require(loss, right[:1], tolerance)
    require(results, right, tolerance)
    return {"forward": milliseconds(forward.replay, rounds), "forward and adjoint": milliseconds(both.replay, rounds)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=51, help=f"of each measurement, with {CALLS} calls each")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("there is no GPU here that torch can use")
    values = numbers()
    right = expected(*values)
    network = Network(values)
    for arithmetic, tolerance in TOLERANCES.items():
        torch.backends.cuda.matmul.allow_tf32 = arithmetic == "tf32"
        require(network.both(), right, tolerance)
        for how, times in (("", called(network, options.rounds)),
                           (", as graphs", as_graphs(network, options.rounds, right, tolerance))):
            for direction, value in times.items():
                print(json.dumps({"bench": "torch", "case": f"{NAME}, CUDA{how}, {direction}",
                                  "metric": "time of a call", "value": value, "unit": "ms", "arithmetic": arithmetic,
                                  "device": torch.cuda.get_device_name(), "version": torch.__version__}), flush=True)


if __name__ == "__main__":
    main()
