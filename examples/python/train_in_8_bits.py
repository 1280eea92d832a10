"""A small network of torch learns a function of the plane, with all products of its hidden layers in 8 bits.

Each product quantises its factors to float8_e4m3fn and, in the backward pass, the cotangent to float8_e5m2
(samite.torch.matmul_8bit). The same network is trained in 32 bits beside it. Both end with about the same loss.

    python train_in_8_bits.py --device cuda --width 1024 --recipe block --epochs 1000
"""

import argparse
import math
import time

import torch

import samite.torch

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--epochs", type=int, default=100)
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--batch", type=int, default=256)
parser.add_argument("--recipe", choices=["tensor", "row", "block"], default="row")
parser.add_argument("--device", default="cpu")
options = parser.parse_args()


class Linear8(torch.nn.Module):
    """A linear layer whose products are in 8 bits; its parameters are in 32, as the optimizer wants them."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(inputs, outputs) / math.sqrt(inputs))
        self.bias = torch.nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return samite.torch.matmul_8bit(x, self.weight, recipe=options.recipe) + self.bias


class Network(torch.nn.Module):
    """Waves of a point of the plane, and two hidden layers, each with a norm."""

    def __init__(self, layer):
        super().__init__()
        self.waves = torch.nn.Parameter(2 * torch.randn(2, options.width // 2), requires_grad=False)
        self.hidden = torch.nn.ModuleList(layer(options.width, options.width) for _ in range(2))
        self.last = torch.nn.Linear(options.width, 1)

    def forward(self, x):
        x = x @ self.waves
        x = torch.cat((x.cos(), x.sin()), 1)
        for layer in self.hidden:
            x = torch.nn.functional.gelu(layer(samite.torch.layer_norm(x)))
        return self.last(x)


def wanted(x):
    return torch.sin(4 * x[:, :1]) * torch.cos(3 * x[:, 1:])


def train(layer):
    torch.manual_seed(0)
    network = Network(layer).to(options.device)
    optimizer = torch.optim.Adam([each for each in network.parameters() if each.requires_grad], lr=3e-3)
    losses = []
    begin = time.perf_counter()
    for _ in range(options.epochs):
        x = 2 * torch.rand(options.batch, 2, device=options.device) - 1
        loss = (network(x) - wanted(x)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    losses = torch.stack(losses).tolist()
    few = max(1, options.epochs // 10)
    return losses[0], sum(losses[-few:]) / few, (time.perf_counter() - begin) / options.epochs


first, last, seconds = train(Linear8)
_, peer, peer_seconds = train(torch.nn.Linear)
print(f"in  8 bits: loss {first:.4f} -> {last:.4f}, {seconds * 1e3:.2f} ms a step")
print(f"in 32 bits: loss {first:.4f} -> {peer:.4f}, {peer_seconds * 1e3:.2f} ms a step")
assert last < first / 3 and last < 1.5 * peer + 0.01
