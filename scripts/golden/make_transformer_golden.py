#!/usr/bin/env python3
"""Writes tests/data/transformer.json: parameters, results and gradients of three transformers, and what a classifier of sequences
learns in 20 steps with clipped gradients. Needs PyTorch.

Usage: make_transformer_golden.py [FILE]
"""
import json
import pathlib
import sys
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
out = {}


def sums(module, of=lambda p: p.detach()):
    return [[name, of(p).double().abs().sum().item()] for name, p in module.named_parameters()]


def values(tensor):
    return [float(v) for v in tensor.detach().reshape(-1)]


torch.manual_seed(1)
layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0)
decoder_layer = nn.TransformerDecoderLayer(8, 2, 16, 0.0, activation="gelu")
encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(8), enable_nested_tensor=False)
decoder = nn.TransformerDecoder(decoder_layer, 2)
whole = nn.Transformer(8, 2, 1, 2, 12, dropout=0.0)
modules = dict(encoder=encoder, decoder=decoder, whole=whole)
out["parameters"] = {name: sums(module) for name, module in modules.items()}
src, tgt = torch.randn(5, 3, 8), torch.randn(4, 3, 8)
mask = nn.Transformer.generate_square_subsequent_mask(4)
pad = torch.zeros(3, 5, dtype=torch.bool); pad[1, 4] = True
results = [encoder(src, src_key_padding_mask=pad), decoder(tgt, src, tgt_mask=mask, memory_key_padding_mask=pad),
           whole(src, tgt, tgt_mask=mask, src_key_padding_mask=pad, memory_key_padding_mask=pad)]
out["results"] = [values(r) for r in results]
w = torch.linspace(-1, 1, 8)
sum((r * w).pow(2).sum() for r in results).backward()
out["gradients"] = {name: sums(module, lambda p: p.grad) for name, module in modules.items()}

# A classifier of sequences: two groups of parameters, gradients clipped.
torch.manual_seed(3)
embedding = nn.Embedding(20, 16)
net = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, 0.0), 2, enable_nested_tensor=False)
head = nn.Linear(16, 2)
parameters = [p for module in (embedding, net, head) for p in module.parameters()]
groups = [dict(params=[p for p in parameters if p.dim() > 1], weight_decay=0.1),
          dict(params=[p for p in parameters if p.dim() == 1], weight_decay=0.0)]
optimizer = torch.optim.AdamW(groups, lr=3e-3)
losses, norms = [], []
for step in range(20):
    x = torch.randint(0, 20, (16, 12))
    y = (x.lt(10).sum(1) > 6).long()
    loss = nn.functional.cross_entropy(head(net(embedding(x.t())).mean(0)), y, label_smoothing=0.05)
    optimizer.zero_grad()
    loss.backward()
    norms.append(float(nn.utils.clip_grad_norm_(parameters, 0.5, norm_type=[2.0, float("inf"), 1.0][step % 3])))
    optimizer.step()
    losses.append(loss.item())
out["losses"], out["norms"] = losses, norms
path = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2] / "tests/data/transformer.json"
pathlib.Path(path).write_text(json.dumps(out, separators=(",", ":")))
