#!/usr/bin/env python3
"""Packs the golden data that the frontend's tests read into a few small files.

usage: pack_oracle.py ORACLE_DIR [OUT_DIR]     (OUT_DIR: tests/data)

ops.json + ops.bin   operator cases: expression, inputs, outputs, gradients, tolerances; elements lie in ops.bin, little endian
errors.json          failing calls and their messages
repr.json            expressions and their printed form
promotion.json       result types
rng.json + rng.bin   random numbers: seed, program, dtype and shape of its `out`, two draws after it; elements as in ops.bin
views.json           expressions: do they alias, their strides
semantics.json       expressions at corner cases and their printed form
"""
import ast
import json
import os
import struct
import sys


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
        blob.extend(bytes(-len(blob) % 8))  # tensors are aligned to their elements
        entry = {"dtype": dtype, "shape": shape, "at": len(blob)}
        blob.extend(elements)
        return entry

    for case in manifest["cases"]:
        gradients = {}
        if any(case.get("grads") or []):  # null: not asked
            given = [o and put(o, t) for o, t in zip(case["grad_outputs"], case["output_dtypes"])]
            wanted = [g and put(g, t) for g, t in zip(case["grads"], case["input_dtypes"])]
            gradients = {"grad_outputs": given, "grads": wanted}
        cases.append({"name": case["name"], "expr": case["expr"], "rtol": case["rtol"], "atol": case["atol"],
                      "inputs": [put(n, t) for n, t in zip(case["inputs"], case["input_dtypes"])],
                      "outputs": [put(n, t) for n, t in zip(case["outputs"], case["output_dtypes"])],
                      **gradients})
    with open(os.path.join(out, "ops.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
    with open(os.path.join(out, "ops.bin"), "wb") as f:
        f.write(blob)
    return len(cases), len(blob)


def pack_rng(oracle, out):
    blob, records = bytearray(), []
    for record in json.load(open(os.path.join(oracle, "rng", "rng_golden.json"))):
        _, elements = read_npy(os.path.join(oracle, "rng", record.pop("file")))
        records.append({**record, "at": len(blob)})
        blob.extend(elements)
    with open(os.path.join(out, "rng.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in records) + "\n]\n")
    with open(os.path.join(out, "rng.bin"), "wb") as f:
        f.write(blob)


def copy_json(source, target):
    data = json.load(open(source))
    with open(target, "w") as f:
        if isinstance(data, list):
            f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in data) + "\n]\n")
        else:
            json.dump(data, f, separators=(",", ":"))


def main():
    oracle = sys.argv[1]
    out = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(__file__), "..", "..", "tests", "data")
    os.makedirs(out, exist_ok=True)
    cases, size = pack_ops(oracle, out)
    pack_rng(oracle, out)
    copy_json(os.path.join(oracle, "errors", "errors.json"), os.path.join(out, "errors.json"))
    copy_json(os.path.join(oracle, "repr", "repr_cases.json"), os.path.join(out, "repr.json"))
    copy_json(os.path.join(oracle, "promotion.json"), os.path.join(out, "promotion.json"))
    copy_json(os.path.join(oracle, "views", "view_cases.json"), os.path.join(out, "views.json"))
    copy_json(os.path.join(oracle, "semantics", "semantics.json"), os.path.join(out, "semantics.json"))
    print(f"{cases} operator cases, {size} bytes of elements")


main()
