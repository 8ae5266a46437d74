#!/usr/bin/env python3
"""Writes tests/data/training.json: what PyTorch's optimizers make of parameters whose gradients are given numbers, and the rates that
its schedulers give. Needs PyTorch.

Usage: make_training_golden.py [FILE]
"""
import json
import math
import pathlib
import sys

import torch

FILE = pathlib.Path(__file__).resolve().parents[2] / "tests/data/training.json"
SHAPES = [(2, 3), (4,), (5, 1), ()]
STEPS = 7


def parameter(j):
    """Eighths, so that every number is exact in float32."""
    n = math.prod(SHAPES[j])
    return torch.tensor([((i * 5 + j * 3) % 13 - 6) / 8 for i in range(n)], dtype=torch.float32).reshape(SHAPES[j])


def gradient(j, k):
    n = math.prod(SHAPES[j])
    return torch.tensor([((i * 7 + k * 13 + j * 5) % 11 - 5) / 8 for i in range(n)], dtype=torch.float32).reshape(SHAPES[j])


def run(name, defaults, second):
    """Two groups: the first two parameters with the defaults, the others with options of their own."""
    params = [parameter(j).requires_grad_() for j in range(len(SHAPES))]
    optimizer = getattr(torch.optim, name)([{"params": params[:2]}, {"params": params[2:], **second}], **defaults)
    for k in range(STEPS):
        for j, p in enumerate(params):
            p.grad = None if j == 1 and k == 2 else gradient(j, k)
        if k == 4:
            optimizer.param_groups[1]["lr"] *= 0.5
        optimizer.step()
    return {"name": name, "defaults": defaults, "second": second, "parameters": [p.detach().flatten().tolist() for p in params],
            "text": str(optimizer)}


OPTIMIZERS = [
    ("SGD", {"lr": 0.1}, {}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}, {"lr": 0.05, "momentum": 0.5}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}, {"weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.8, "dampening": 0.25}, {}),
    ("Adam", {"lr": 0.01}, {"lr": 0.1, "betas": (0.8, 0.99)}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1}, {"eps": 1e-3}),
    ("AdamW", {"lr": 0.01}, {"weight_decay": 0.3}),
    ("AdamW", {"lr": 0.01, "amsgrad": True}, {}),
    ("RMSprop", {"lr": 0.01}, {"alpha": 0.5, "momentum": 0.9}),
    ("RMSprop", {"lr": 0.01, "centered": True, "weight_decay": 0.05}, {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1}, {"lr_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.5}, {"weight_decay": 0.1}),
]


def lbfgs(line_search, size):
    """Rosenbrock's valley: where each step() ends."""
    x = torch.tensor([-1.5, 2.0] + [0.5] * (size - 2), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([x], lr=1 if line_search else 0.002, max_iter=4, history_size=5, line_search_fn=line_search)
    calls, places = 0, []

    def closure():
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        loss = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(6):
        loss = optimizer.step(closure)
        places.append([loss.item(), calls, *x.tolist()])
    return {"line_search": line_search, "size": size, "places": places}


def schedule(make, steps=24, momentum=False, metrics=None):
    p = [torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)]
    optimizer = torch.optim.SGD([{"params": p[:1]}, {"params": p[1:], "lr": 0.5}], lr=1.0, momentum=0.9)
    scheduler = make(optimizer)
    rows = []
    for i in range(steps):
        rows.append([g["lr"] for g in optimizer.param_groups] + ([optimizer.param_groups[0]["momentum"]] if momentum else []))
        optimizer.step()
        scheduler.step(*([metrics[i % len(metrics)]] if metrics else []))
    return rows


S = torch.optim.lr_scheduler
METRICS = [1.0, 0.9, 0.95, 0.95, 0.9, 0.95, 0.95, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6]
SCHEDULES = {
    "StepLR": schedule(lambda o: S.StepLR(o, 3, 0.5)),
    "MultiStepLR": schedule(lambda o: S.MultiStepLR(o, [2, 5, 5, 11], 0.3)),
    "ExponentialLR": schedule(lambda o: S.ExponentialLR(o, 0.9)),
    "CosineAnnealingLR": schedule(lambda o: S.CosineAnnealingLR(o, 7, 0.01)),
    "LambdaLR": schedule(lambda o: S.LambdaLR(o, lambda epoch: 1 / (1 + epoch))),
    "OneCycleLR": schedule(lambda o: S.OneCycleLR(o, 2.0, total_steps=24), momentum=True),
    "OneCycleLR linear": schedule(lambda o: S.OneCycleLR(o, [2.0, 3.0], total_steps=24, anneal_strategy="linear", three_phase=True), momentum=True),
    "ReduceLROnPlateau": schedule(lambda o: S.ReduceLROnPlateau(o, factor=0.5, patience=2, cooldown=1, min_lr=0.25), metrics=METRICS),
}

torch.set_num_threads(1)
golden = {"torch": torch.__version__.split("+")[0], "steps": STEPS, "shapes": SHAPES, "optimizers": [run(*o) for o in OPTIMIZERS],
          "lbfgs": [lbfgs(None, 2), lbfgs("strong_wolfe", 2), lbfgs("strong_wolfe", 4)], "metrics": METRICS, "schedules": SCHEDULES}
(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FILE).write_text(json.dumps(golden) + "\n")
