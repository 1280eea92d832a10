"""A small network of torch learns to set up a field that diffuses into a wanted one: its loss runs through a simulation.

    python train_through_simulation.py --epochs 300
"""

import argparse

import heat_kernels
import torch

import samite.torch

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--epochs", type=int, default=150)
parser.add_argument("--size", type=int, default=32)
options = parser.parse_args()
torch.manual_seed(0)

diffuse = samite.torch.function(heat_kernels.diffuse, outputs={"next": "now"})


def simulate(field, steps=6):
    for _ in range(steps):
        field = diffuse(field, rate=0.2)
    return field


# The network sees where a blob of heat is wanted, and says where to put heat at first.
network = torch.nn.Sequential(
    torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, options.size**2), torch.nn.Softplus()
)
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
y, x = torch.meshgrid(*[torch.linspace(0, 1, options.size)] * 2, indexing="ij")

losses = []
for epoch in range(options.epochs):
    where = 0.3 + 0.4 * torch.rand(2)
    wanted = torch.exp(-((x - where[0]) ** 2 + (y - where[1]) ** 2) / 0.02)
    found = simulate(network(where).reshape(options.size, options.size))
    loss = (found - wanted).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

first, last = sum(losses[:10]) / 10, sum(losses[-10:]) / 10
print(f"loss {first:.4f} -> {last:.4f}")
assert last < first / 2
