#!/usr/bin/env python3
"""Makes tests/data/programs.txt: what the programs of tests/frontend/programs/programs_test.cpp print in PyTorch.

usage: make_programs.py [OUT.txt]        (needs torch; OUT: tests/data/programs.txt)

Each function here is one program there, line by line; where they train, the C++ forms the gradients by hand.
"""
import os
import sys
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
LINES = []


def show(name, x):
    x = torch.as_tensor(x)
    sizes = "[" + ", ".join(map(str, x.shape)) + "]"
    LINES.append(" ".join([name, sizes] + [f"{v:.6g}" for v in x.detach().double().reshape(-1).tolist()]))


def tensor_basics():
    torch.manual_seed(1)
    a, b = torch.rand(2, 3), torch.randn(3, 2)
    show("product", a.mm(b))
    show("mixed", (a * 2 - b.t()).clamp(-0.5, 1.5).sum(1))
    show("types", torch.arange(5, dtype=torch.int32).to(torch.float64) / 2)
    values, places = torch.cat([a, b.t()]).topk(2, 1)
    show("top", values)
    show("places", places)
    show("where", torch.where(a > 0.5, a, torch.zeros_like(a)))
    show("stats", torch.stack([a.mean(), a.std(), a.max(), a.norm(), b.var()]))
    a[0].mul_(3)
    a.t()[2] += 1
    show("written", a)
    show("einsum", torch.einsum("ij,jk->ki", a, b))


def gradients():
    torch.manual_seed(2)
    w = torch.randn(3, requires_grad=True)
    x, y = torch.randn(8, 3), torch.randn(8)
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    for step in range(5):
        loss = F.mse_loss(x.matmul(w), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        show("loss", loss)
    show("w", w)
    with torch.no_grad():
        show("detached", (w * 2).detach())


def module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(4, 5), nn.Linear(5, 2)
            self.scale = nn.Parameter(torch.ones(2))
            self.register_buffer("shift", torch.full([2], 0.5))

        def forward(self, x):
            return torch.relu(self.fc1(x)) @ self.fc2.weight.t() * self.scale + self.shift

    torch.manual_seed(3)
    net = Net()
    show("out", net(torch.randn(2, 4)))
    for name, p in net.named_parameters():
        show(name, p)
    show("buffers", list(net.buffers())[0])
    show("count", sum(p.numel() for p in net.parameters()))


def training():
    torch.manual_seed(4)
    fc1, fc2 = nn.Linear(4, 8), nn.Linear(8, 3)
    x = torch.randn(12, 1, 2, 2)
    y = torch.randint(0, 3, (12,))
    optimizer = torch.optim.Adam([*fc1.parameters(), *fc2.parameters()], lr=0.05)
    torch.randperm(12)  # LibTorch's sampler draws when it is made
    for epoch in range(3):
        order = torch.randperm(12)
        total = 0.0
        for at in range(0, 12, 5):
            some = order[at:at + 5]
            data = (x[some] - 0.1) / 0.9
            loss = F.cross_entropy(fc2(F.relu(fc1(data.flatten(1)))), y[some])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        show("epoch", total)
    show("weight", fc1.weight)
    show("bias", fc2.bias)
    show("classes", fc2(F.relu(fc1(x.flatten(1)))).argmax(1))


def convolutions():
    torch.manual_seed(5)
    net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Conv2d(4, 6, 3, stride=2), nn.Dropout2d(0.5), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 3))
    x = torch.randn(2, 1, 12, 12)
    show("train", net(x))
    show("mean", net[1].running_mean)
    show("var", net[1].running_var)
    net.eval()
    show("eval", F.log_softmax(net(x), 1))


def saving():
    torch.manual_seed(6)
    net, other = nn.Linear(3, 2), nn.Linear(3, 2)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net")
        torch.save(net.state_dict(), path)
        other.load_state_dict(torch.load(path))
        torch.save([torch.arange(3.), torch.eye(2)], path)
        list_ = torch.load(path)
    show("weight", other.weight)
    show("same", other(torch.ones(1, 3)) - net(torch.ones(1, 3)))
    show("list", list_[1])


def indexing():
    x = torch.arange(24.).view(2, 3, 4)
    show("slice", x[:, 1:, ::2])
    show("ellipsis", x[..., -1])
    show("none", x[0, None, 1])
    show("list", x[:, torch.tensor([2, 0])])
    show("mask", x[x > 17])
    x[1, ..., 2:] = -1
    x[0, torch.tensor([0, 2]), torch.tensor([1, 3])] = torch.tensor([50., 60.])
    x[x < 0] *= 2
    show("written", x)
    show("scalar", x[1, 2, 0])


def gan():
    torch.manual_seed(7)
    generator = nn.Sequential(nn.ConvTranspose2d(5, 8, 4, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
                              nn.ConvTranspose2d(8, 4, 3, 2, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(True),
                              nn.ConvTranspose2d(4, 1, 4, 2, 1, bias=False), nn.Tanh())
    discriminator = nn.Sequential(nn.Conv2d(1, 4, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True), nn.Conv2d(4, 8, 4, 2, 1, bias=False),
                                  nn.BatchNorm2d(8), nn.LeakyReLU(0.2, True), nn.Conv2d(8, 1, 3, 1, 0, bias=False), nn.Sigmoid())
    optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.5))
    real = torch.rand(3, 1, 14, 14) * 2 - 1
    labels = torch.empty(3).uniform_(0.8, 1.0)
    out = discriminator(real).reshape(labels.shape)
    show("real", F.binary_cross_entropy(out, labels))
    fake = generator(torch.randn(3, 5, 1, 1))
    show("fake", fake[0, 0, 6])
    show("fooled", F.binary_cross_entropy(discriminator(fake.detach()).reshape(-1), torch.zeros(3)))
    for p in discriminator.parameters():
        p.grad = p.detach() * 0.5 + 0.1
    optimizer.step()
    show("after", discriminator(real))


def characters():
    torch.manual_seed(8)
    text = "hello tensor"
    letters = sorted(set(text))
    ids = torch.tensor([letters.index(c) for c in text])
    embedding, lstm, decoder = nn.Embedding(len(letters), 6), nn.LSTM(6, 7, 2), nn.Linear(7, len(letters))
    out, (h, c) = lstm(embedding(ids[:-1]).unsqueeze(1))
    show("loss", F.cross_entropy(decoder(out).squeeze(1), ids[1:]))
    show("h", h)
    show("c", c[1])
    letter, said = ids[:1], []
    for _ in range(5):
        step, (h, c) = lstm(embedding(letter).unsqueeze(1), (h, c))
        letter = decoder(step).view(1, -1).argmax(1)
        said.append(letter)
    show("said", torch.cat(said))
    gru = nn.GRU(6, 3, bidirectional=True)
    show("gru", gru(embedding(ids[:3]).unsqueeze(1))[0])


def dataset():
    torch.manual_seed(9)
    total = torch.zeros(3)
    data = [(torch.full([3], float(i)), i % 2) for i in range(7)]
    for at in range(0, 7, 3):
        batch = torch.stack([d for d, _ in data[at:at + 3]])
        labels = torch.tensor([t for _, t in data[at:at + 3]])
        show("batch", batch)
        show("labels", labels)
        total += batch.sum(0)
    show("total", total)


PROGRAMS = [tensor_basics, gradients, module, training, convolutions, saving, indexing, gan, characters, dataset]


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..", "tests", "data", "programs.txt")
    with open(out, "w") as f:
        for program in PROGRAMS:
            LINES.clear()
            program()
            f.write(f"### {program.__name__}\n" + "".join(line + "\n" for line in LINES))


main()
