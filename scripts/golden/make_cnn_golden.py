#!/usr/bin/env python3
"""Makes tests/data/cnn.json: the tutorial's convolutional network as PyTorch trains it. Weights after manual_seed(0); a batch
of 16 after manual_seed(1); logits and gradients of the first step in float64, rounded to float32, and the losses of ten steps
of Adam. The first 50 losses on Fashion-MNIST, in float64 too: manual_seed(0), the network, one randperm, batches of 256. (In
float32 the roundings of a version of PyTorch decide near ties of the pooling, and its losses are apart from another version's by
0.004 after 50 steps.)

    scripts/golden/make_cnn_golden.py [FOLDER_OF_FASHION_MNIST]
Needs PyTorch 2.15."""
import gzip
import json
import pathlib
import sys

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        pool = nn.MaxPool2d(2, 2)
        self.conv = nn.Sequential(nn.Conv2d(3, 6, 5), nn.ReLU(), pool, nn.Conv2d(6, 16, 5, padding=3), nn.ReLU(),
                                  nn.Conv2d(16, 16, 5), nn.ReLU(), pool, nn.Conv2d(16, 16, 3), nn.ReLU(), pool, nn.Flatten())
        self.fc = nn.Sequential(nn.Linear(64, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))

    def forward(self, x):
        return self.fc(self.conv(x))


def ten_steps(dtype):
    torch.manual_seed(0)
    net = ConvNet()
    torch.manual_seed(1)
    x, y = (torch.rand(16, 3, 32, 32) - 0.5) / 0.5, torch.randint(0, 10, (16,))
    net.to(dtype)
    optimizer, losses, first = torch.optim.Adam(net.parameters()), [], None
    for _ in range(10):
        logits = net(x.to(dtype))
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        if first is None:
            first = logits.detach(), {name: p.grad.clone() for name, p in net.named_parameters()}
        losses.append(loss.item())
        optimizer.step()
    return losses, *first


def fashion(folder):
    def idx(name, offset):
        return np.frombuffer(gzip.open(f"{folder}/{name}.gz").read(), np.uint8, offset=offset)
    pixels = np.zeros((60000, 1, 32, 32), np.uint8)
    pixels[:, 0, 2:30, 2:30] = idx("train-images-idx3-ubyte", 16).reshape(-1, 28, 28)
    labels = torch.from_numpy(idx("train-labels-idx1-ubyte", 8).astype(np.int64))
    pixels = torch.from_numpy(pixels)
    torch.manual_seed(0)
    net = ConvNet().double()
    optimizer, losses, order = torch.optim.Adam(net.parameters()), [], torch.randperm(60000)
    for i in range(50):
        rows = order[256 * i:256 * (i + 1)]
        x = ((pixels[rows].double().div(255) - 0.5) / 0.5).expand(-1, 3, -1, -1)
        loss = nn.functional.cross_entropy(net(x), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    losses, logits, gradients = ten_steps(torch.float64)
    single = lambda t: [float(np.float32(v)) for v in t.flatten().tolist()]
    # The norm of each gradient, and every 17th element.
    result = {"losses": losses, "logits": single(logits),
              "gradients": {n: {"norm": g.norm().item(), "every_17th": single(g.flatten()[::17])} for n, g in gradients.items()},
              "fashion_mnist_losses": fashion(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/datasets/fashion-mnist")}
    path = pathlib.Path(__file__).resolve().parents[2] / "tests/data/cnn.json"
    path.write_text(json.dumps(result, indent=None, separators=(",", ":")) + "\n")


main()
