#!/usr/bin/env python3
"""Packs the golden data that the frontend's tests read into a few small files.

usage: pack_oracle.py ORACLE_DIR [OUT_DIR]     (OUT_DIR: tests/data)

ops.json + ops.bin   operator cases: expression, inputs, outputs, tolerances; elements lie in ops.bin, little endian
errors.json          failing calls and their messages
repr.json            expressions and their printed form
promotion.json       result types
"""
import ast
import json
import os
import struct
import sys

# What the library does not have yet. A case of any other operator that the runner cannot map is a failed test.
LATER = """masked_select nanmean median median_dim cumsum cumprod cummax cummin logcumsumexp sum_to_size sort argsort topk
kthvalue unique bincount searchsorted histc bilinear tensordot kron einsum conv2d conv1d conv_transpose2d max_pool2d
avg_pool2d max_pool2d_indices adaptive_avg_pool2d max_pool1d avg_pool1d interpolate unfold_im2col softmin cross_entropy
nll_loss mse_loss l1_loss smooth_l1_loss huber_loss bce bce_with_logits kl_div cosine_similarity normalize
pairwise_distance cdist batch_norm group_norm instance_norm local_response_norm embedding one_hot attention_causal
index_select gather take_along_dim take scatter scatter_add index_add index_fill index_copy nonzero index index_put
index_put_accumulate tensor_split pad_reflect pad_replicate pad_circular tril triu diag diagonal diag_embed trace rot90
repeat_interleave meshgrid cross cartesian_prod tril_indices program""".split()
LATER_CALLS = ("randint", "rand(", "randn", "unfold(", "diagonal", "as_strided", "tril", "triu", "logspace", "narrow_copy")


def read_npy(path):
    """(shape, bytes) of a C-ordered little-endian file."""
    data = open(path, "rb").read()
    assert data[:7] == b"\x93NUMPY\x01", path
    (length,) = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10:10 + length].decode())
    assert not header["fortran_order"] or len(header["shape"]) < 2, path
    assert header["descr"][0] in "<|", path
    return list(header["shape"]), data[10 + length:]


def pack_ops(oracle, out):
    manifest = json.load(open(os.path.join(oracle, "ops", "manifest.json")))
    blob, cases = bytearray(), []

    def put(name, dtype):
        shape, elements = read_npy(os.path.join(oracle, "ops", "data", os.path.basename(name)))
        entry = {"dtype": dtype, "shape": shape, "at": len(blob)}
        blob.extend(elements)
        return entry

    for case in manifest["cases"]:
        op = case["op"]
        if op in LATER or op.startswith("optim_") or any(call in case["expr"] for call in LATER_CALLS):
            continue
        cases.append({"name": case["name"], "op": op, "expr": case["expr"], "rtol": case["rtol"], "atol": case["atol"],
                      "inputs": [put(n, t) for n, t in zip(case["inputs"], case["input_dtypes"])],
                      "outputs": [put(n, t) for n, t in zip(case["outputs"], case["output_dtypes"])]})
    with open(os.path.join(out, "ops.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
    with open(os.path.join(out, "ops.bin"), "wb") as f:
        f.write(blob)
    return len(cases), len(blob)


def copy_json(source, target):
    data = json.load(open(source))
    with open(target, "w") as f:
        if isinstance(data, list):
            f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in data) + "\n]\n")
        else:
            json.dump(data, f, separators=(",", ":"))


def main():
    oracle = sys.argv[1]
    out = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(__file__), "..", "tests", "data")
    os.makedirs(out, exist_ok=True)
    cases, size = pack_ops(oracle, out)
    copy_json(os.path.join(oracle, "errors", "errors.json"), os.path.join(out, "errors.json"))
    copy_json(os.path.join(oracle, "repr", "repr_cases.json"), os.path.join(out, "repr.json"))
    copy_json(os.path.join(oracle, "promotion.json"), os.path.join(out, "promotion.json"))
    print(f"{cases} operator cases, {size} bytes of elements")


main()
