#!/usr/bin/env python3
"""Opens what Tenon writes with the readers of NumPy, safetensors, PyTorch and TensorBoard, and compares it with what must be in it.

Usage: check_readers.py EXCHANGE_FILES [FOLDER]
       check_readers.py --write          writes tests/data/exchange/torch_*.safetensors, what PyTorch gives Tenon to read

EXCHANGE_FILES is the program tests/exchange_files.cpp, which writes into FOLDER (by default a temporary one). Where this Python lacks
a package, $TENON_TEST_PYTHON, if set, is asked instead; else the check is skipped, and says so.
"""
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import safetensors.numpy
    import safetensors.torch
    import torch
    from PIL import Image
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as missing:
    other = os.environ.pop("TENON_TEST_PYTHON", None)
    if other:
        os.execv(other, [other, *sys.argv])
    print(f"skipped: {missing}")
    sys.exit(0)

DATA = pathlib.Path(__file__).resolve().parents[2] / "tests/data/exchange"
TYPES = {"Bool": torch.bool, "Byte": torch.uint8, "Char": torch.int8, "Short": torch.int16, "Int": torch.int32, "Long": torch.int64,
         "Half": torch.float16, "BFloat16": torch.bfloat16, "Float": torch.float32, "Double": torch.float64}
OPTIMIZERS = {  # the options of exchange_files.cpp
    "sgd": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "adam": (torch.optim.Adam, {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1}),
    "adamw": (torch.optim.AdamW, {"lr": 0.01, "betas": (0.8, 0.99)}),
    "rmsprop": (torch.optim.RMSprop, {"lr": 0.01, "momentum": 0.5, "centered": True}),
    "adagrad": (torch.optim.Adagrad, {"lr": 0.1, "lr_decay": 0.1}),
}
checks = 0


def check(right, *what):
    global checks
    checks += 1
    assert right, what


def same(got, want, *what):
    """Dtype, shape and bits, nan included."""
    got, want = np.asarray(got), np.asarray(want)
    check(got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes(), *what, got, want)


# --- tensors


def expected_tensors():
    result = {}
    for name, dtype in TYPES.items():
        result[name] = (torch.arange(6) - (0 if name == "Byte" else 2)).to(dtype).reshape(2, 3)
    result["transposed"] = torch.arange(6, dtype=torch.float32).reshape(2, 3).t().contiguous()
    result["sliced"] = torch.arange(20)[3:19:4].contiguous()
    result["scalar"] = torch.tensor(2.5)
    result["none"] = torch.zeros(3, 0)
    result['läyer "1"'] = torch.tensor([float("inf"), -0.0, float("nan")])
    return result


def bits(x):
    return x.view(torch.int16).numpy() if x.dtype == torch.bfloat16 else x.numpy()


def check_tensors(folder):
    want = expected_tensors()
    got = safetensors.torch.load_file(folder / "tensors.safetensors")
    check(set(got) == set(want), got.keys())
    for name, value in want.items():
        check(got[name].dtype == value.dtype, name)
        same(bits(got[name]), bits(value), name)
    with safetensors.safe_open(folder / "tensors.safetensors", "pt") as file:
        check(file.metadata() == {"format": "pt", "note": 'a "b"\n'}, file.metadata())
    del want["BFloat16"]
    for archive in ("stored.npz", "deflated.npz"):
        arrays = np.load(folder / archive)
        check(set(arrays) == set(want), archive, list(arrays))
        for name, value in want.items():
            same(arrays[name], value.numpy(), archive, name)
    for name, value in want.items():
        if not name.startswith("l"):
            same(np.load(folder / f"{name}.npy"), value.numpy(), name)


# --- modules and optimizers


def make_net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8, bias=False), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


def make_batch():
    torch.manual_seed(1)
    return torch.randn(32, 4), torch.randint(0, 3, (32,))


def run_steps(net, optimizer, x, y, count):
    for _ in range(count):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()


def check_close(got, want, *what):
    check(got.shape == want.shape and torch.allclose(got, want, rtol=2e-5, atol=2e-6), *what, got, want)


def check_trainings(folder):
    x, y = make_batch()
    batch = safetensors.torch.load_file(folder / "batch.safetensors")
    same(batch["x"].numpy(), x.numpy(), "x")
    same(batch["y"].numpy(), y.numpy(), "y")
    start = safetensors.torch.load_file(folder / "net.safetensors")
    for key, value in make_net().state_dict().items():
        same(start[key].numpy(), value.numpy(), key)
    for name, (kind, options) in OPTIMIZERS.items():
        net = make_net()
        optimizer = kind(net.parameters(), **options)
        run_steps(net, optimizer, x, y, 5)
        other = make_net()
        check(safetensors.torch.load_model(other, folder / f"net_{name}.safetensors") == (set(), []), name)
        for key, value in net.state_dict().items():
            check_close(other.state_dict()[key], value, name, key)
        with safetensors.safe_open(folder / f"{name}.safetensors", "pt") as file:
            values = {key: json.loads(text) for key, text in file.metadata().items()}
            check(values["groups"] == 1 and values["group.0.params"] == 5, values)
            for key, value in options.items():
                check(values[f"group.0.{key}"] == (list(value) if isinstance(value, tuple) else value), name, key, values)
            for i, p in enumerate(net.parameters()):
                state = dict(optimizer.state[p])
                if "max_exp_avg_sqs" in state:
                    state["max_exp_avg_sq"] = state.pop("max_exp_avg_sqs")
                if "step" in state:
                    check(values[f"state.{i}.step"] == int(state.pop("step")), name, i)
                stored = {key.split(".")[2] for key in file.keys() if key.startswith(f"state.{i}.")}
                check(stored == set(state), name, i, stored, state.keys())
                for key, value in state.items():
                    check_close(file.get_tensor(f"state.{i}.{key}"), value, name, i, key)


# --- TensorBoard


def check_histogram(event, values, bins, step):
    h = event.histogram_value
    counts, edges = np.histogram(values, bins=bins)
    check(event.step == step and h.num == len(values), event)
    check(h.min == values.min() and h.max == values.max(), event)
    check(np.isclose(h.sum, values.sum()) and np.isclose(h.sum_squares, (values ** 2).sum()), event)
    if values.min() < values.max():
        check(list(h.bucket) == list(counts) and np.allclose(h.bucket_limit, edges[1:]), event)
    check(sum(h.bucket) == len(values), event)


def check_events(folder):
    run = folder / "run"
    events = EventAccumulator(str(run), size_guidance={"scalars": 0, "histograms": 0, "images": 0, "tensors": 0})
    events.Reload()
    tags = events.Tags()
    check(set(tags["scalars"]) == {"loss/train", "odd"}, tags)
    check(set(tags["histograms"]) == {"normal", "one value", "with nan"}, tags)
    check(set(tags["images"]) == {"color", "gray", "bytes"} and tags["tensors"] == ["note/text_summary"] and tags["graph"], tags)
    losses = events.Scalars("loss/train")
    check([e.step for e in losses] == list(range(300)))
    check(all(e.value == float(np.float32(1 / (e.step + 1))) for e in losses))
    check(all(a.wall_time <= b.wall_time for a, b in zip(losses, losses[1:])))
    odd = events.Scalars("odd")
    check(np.isnan(odd[0].value) and odd[1].value == np.inf and odd[1].step == 2 ** 40, odd)
    for name, value in (("train", 0.5), ("test", 0.75)):
        other = EventAccumulator(str(run / f"both_{name}"))
        other.Reload()
        check([(e.step, e.value) for e in other.Scalars("both")] == [(7, value)], name)
    torch.manual_seed(0)
    check_histogram(events.Histograms("normal")[0], torch.randn(1000).numpy().astype(np.float64), 20, 3)
    check_histogram(events.Histograms("one value")[0], np.full(5, 2.0), 64, 4)
    check_histogram(events.Histograms("with nan")[0], np.array([0.0, 1.0, 1.0, 4.0]), 4, 300)
    check_images(events)
    note = events.Tensors("note/text_summary")[0]
    check(note.step == 2 and note.tensor_proto.string_val[0].decode() == "the **first** run: ä", note)
    metadata = events.SummaryMetadata("note/text_summary")
    check(metadata.plugin_data.plugin_name == "text", metadata)
    check_graph(events)


def check_images(events):
    color = (torch.arange(60, dtype=torch.float32).reshape(3, 5, 4) / 59 * 1.2 - 0.1)
    as_bytes = (color * 255).clamp(0, 255).to(torch.uint8).numpy()
    bytes_ = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)
    for tag, want, mode in (("color", as_bytes.transpose(1, 2, 0), "RGB"), ("gray", as_bytes[0], "L"),
                            ("bytes", bytes_.transpose(1, 2, 0), "RGBA")):
        image = events.Images(tag)[0]
        picture = Image.open(io.BytesIO(image.encoded_image_string))
        check((image.width, image.height) == (want.shape[1], want.shape[0]) and picture.mode == mode, tag, image, picture)
        same(np.asarray(picture), want, tag)


def check_graph(events):
    from tensorboard.plugins.graph import graph_util  # what the page of graphs uses
    graph = events.Graph()
    nodes = {node.name: node for node in graph.node}
    check(len(nodes) == len(graph.node), graph)
    for node in graph.node:
        check(all(name in nodes for name in node.input), node)
        check("_output_shapes" in node.attr, node)
    product = [node for node in graph.node if node.op == "dot"]
    check(len(product) == 1 and len(product[0].input) == 2, graph)
    shape = product[0].attr["_output_shapes"].list.shape[0]
    check([d.size for d in shape.dim] == [4, 2], shape)
    graph_util.merge_graph_defs([graph])


# --- the other way


def flat_optimizer(optimizer, params):
    """An optimizer's state in the names of Tenon's files (docs/use/keeping.md)."""
    group = optimizer.param_groups[0]
    tensors, values = {}, {"tenon.archive": "1", "groups": "1", "group.0.params": str(len(params))}
    for key in ("lr", "betas", "eps", "weight_decay", "amsgrad"):
        values[f"group.0.{key}"] = json.dumps(group[key])
    for i, p in enumerate(params):
        values[f"state.{i}.step"] = str(int(optimizer.state[p]["step"]))
        for key in ("exp_avg", "exp_avg_sq"):
            tensors[f"state.{i}.{key}"] = optimizer.state[p][key]
    return tensors, values


def write():
    """A network and its Adam after five steps, the batch, and the network five steps later; and a tensor of each type."""
    x, y = make_batch()
    net = make_net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    run_steps(net, optimizer, x, y, 5)
    safetensors.torch.save_model(net, str(DATA / "torch_net.safetensors"))
    tensors, values = flat_optimizer(optimizer, list(net.parameters()))
    safetensors.torch.save_file(tensors, str(DATA / "torch_adam.safetensors"), values)
    run_steps(net, optimizer, x, y, 5)
    net.eval()
    later = {key: value.contiguous() for key, value in net.state_dict().items()}
    safetensors.torch.save_file({"x": x, "y": y, "logits": net(x).detach(), **later}, str(DATA / "torch_later.safetensors"))
    safetensors.torch.save_file(expected_tensors(), str(DATA / "torch_types.safetensors"))


def main():
    if sys.argv[1:] == ["--write"]:
        write()
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else temporary)
        subprocess.run([sys.argv[1], str(folder)], check=True)
        check_tensors(folder)
        check_trainings(folder)
        check_events(folder)
    print(f"{checks} checks with torch {torch.__version__}: right")


main()
