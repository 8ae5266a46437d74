#!/usr/bin/env python3
"""Makes golden.json and the image files beside it with PyTorch, torchvision, scikit-learn and Pillow: what the tests of tenon::data
compare with. Images of the cases are image[c][y][x] = (37 c + 11 y + 23 x + 5 x y) % 256."""
import json
import pathlib

import numpy
import torch
from PIL import Image
from sklearn.model_selection import train_test_split
from torch.utils.data import WeightedRandomSampler, random_split
from torchvision import transforms

HERE = pathlib.Path(__file__).resolve().parent


def image(channels, height, width):
    c, y, x = torch.meshgrid(torch.arange(channels), torch.arange(height), torch.arange(width), indexing="ij")
    return ((37 * c + 11 * y + 23 * x + 5 * x * y) % 256).to(torch.uint8)


def splits():
    cases = []
    for n, options, labels in [
            (150, dict(test_size=0.2, random_state=33), None), (7, dict(random_state=0), None), (10, dict(test_size=3, random_state=1), None),
            (10, dict(train_size=0.55, random_state=2), None), (20, dict(train_size=5, test_size=0.3, random_state=4294967295), None),
            (9, dict(test_size=0.34, shuffle=False), None), (30, dict(test_size=0.3, random_state=5), [i % 3 for i in range(30)]),
            (25, dict(test_size=0.22, random_state=6), [0] * 11 + [5] * 4 + [2] * 10),
            (23, dict(test_size=7, train_size=9, random_state=7), [(i * i) % 4 for i in range(23)])]:
        train, test = train_test_split(numpy.arange(n), stratify=labels, **options)
        cases.append(dict(size=n, options=options, labels=labels or [], train=train.tolist(), test=test.tolist()))
    return cases


def random_splits():
    cases = []
    for n, lengths, seed in [(10, [7, 3], 42), (11, [0.5, 0.25, 0.25], 7), (5, [0.3, 0.3, 0.4], 1)]:
        parts = random_split(range(n), lengths, generator=torch.Generator().manual_seed(seed))
        cases.append(dict(size=n, lengths=lengths, seed=seed, parts=[list(part.indices) for part in parts]))
    return cases


def weighted():
    cases = []
    for weights, count, replacement in [([0.1, 0.9, 0.4, 0.7, 3.0, 0.6], 5, True), ([0.9, 0.4, 0.05, 0.2, 0.3, 0.1], 5, False)]:
        torch.manual_seed(9)
        cases.append(dict(weights=weights, count=count, replacement=replacement, seed=9,
                          epochs=[list(WeightedRandomSampler(weights, count, replacement)) for _ in range(2)]))
    return cases


def resized():
    cases = []
    for height, width, size in [(9, 7, [5, 4]), (6, 8, [13, 9]), (10, 6, [3]), (5, 12, [7]), (16, 16, [5, 11])]:
        for mode in (transforms.InterpolationMode.BILINEAR, transforms.InterpolationMode.NEAREST):
            for antialias in (True, False):
                resize = transforms.Resize(size if len(size) == 2 else size[0], mode, antialias=antialias)
                x = image(3, height, width)
                cases.append(dict(height=height, width=width, size=size, mode=mode.value, antialias=antialias,
                                  bytes=resize(x).flatten().tolist(), shape=list(resize(x).shape),
                                  floats=resize(x.float() / 255).flatten().tolist()))
    return cases


def augmented():
    cases = []
    for name, transform in [("crop", transforms.RandomCrop(5)), ("padded crop", transforms.RandomCrop(8, padding=2)),
                            ("crop and flip", transforms.Compose([transforms.RandomCrop((4, 6), padding=[1, 2]), transforms.RandomHorizontalFlip()])),
                            ("flips", transforms.Compose([transforms.RandomHorizontalFlip(0.3), transforms.RandomVerticalFlip()])),
                            ("resized crop", transforms.RandomResizedCrop(6)),
                            ("wide resized crop", transforms.RandomResizedCrop((4, 5), scale=(0.5, 0.6), ratio=(3.0, 4.0))),
                            ("center crop", transforms.CenterCrop((5, 12))), ("odd center crop", transforms.CenterCrop(3)),
                            ("pad", transforms.Pad([1, 0, 2, 3], fill=9))]:
        torch.manual_seed(11)
        results = [transform(image(3, 8, 10)) for _ in range(4)]
        cases.append(dict(name=name, shape=list(results[0].shape), results=[r.flatten().tolist() for r in results]))
    return cases


def prepared():
    x = transforms.Normalize((0.5, 0.4, 0.3), (0.25, 0.5, 0.125))(image(3, 4, 5).float() / 255)
    return x.flatten().tolist()


def files():
    rgb = image(3, 9, 7).permute(1, 2, 0).numpy()
    alpha = image(4, 6, 5).permute(1, 2, 0).numpy()
    Image.fromarray(rgb).save(HERE / "rgb.png")
    Image.fromarray(rgb[:, :, 0]).save(HERE / "gray.png")
    Image.fromarray(alpha).save(HERE / "rgba.png")
    Image.fromarray(rgb).quantize(16).save(HERE / "palette.png")
    Image.fromarray(rgb).save(HERE / "rgb.jpg", quality=90)
    Image.fromarray(rgb[:, :, 0]).save(HERE / "gray.jpg", quality=80)
    Image.fromarray(numpy.tile(rgb, (4, 4, 1))).save(HERE / "progressive.jpg", quality=60, progressive=True)
    cases = []
    for name in ["rgb.png", "gray.png", "rgba.png", "palette.png", "rgb.jpg", "gray.jpg", "progressive.jpg"]:
        as_rgb = numpy.asarray(Image.open(HERE / name).convert("RGB"))
        cases.append(dict(name=name, rgb=torch.from_numpy(as_rgb.copy()).permute(2, 0, 1).flatten().tolist(),
                          channels=len(Image.open(HERE / name).getbands()) if name != "palette.png" else 3,
                          height=as_rgb.shape[0], width=as_rgb.shape[1]))
    gray = numpy.asarray(Image.open(HERE / "rgb.png").convert("L"))
    return dict(files=cases, gray_of_rgb=gray.flatten().tolist())


if __name__ == "__main__":
    golden = dict(splits=splits(), random_splits=random_splits(), weighted=weighted(), resized=resized(), augmented=augmented(),
                  normalized=prepared(), images=files())
    (HERE / "golden.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")
