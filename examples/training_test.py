#!/usr/bin/env python3
"""Runs the programs that train, on data made here. Usage: training_test.py FOLDER_OF_PROGRAMS [cuda]

iris_train: the tutorial's ten losses with --adam=classic, to seven digits, and the drawn curve. cifar_train and mnist_mlp
(where they are built): images of ten colours are learned, a run that was stopped goes on to the same lines, the comparison
of devices goes on without a GPU, and mistakes are errors in one line. With "cuda" the programs run on a GPU: iris_train prints
the same losses, cifar_train trains on both devices and compares them, devices shows and measures both."""
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

PROGRAMS = os.path.abspath(sys.argv[1])
FOLDER = "."
INSTALLED = "/usr/share/datasets/fashion-mnist"
TUTORIAL = [1.15071142, 0.93773186, 0.77982736, 0.60996711, 0.40083539, 0.25436994, 0.15052448, 0.10086147, 0.08127660, 0.07230931]


def run(program, *arguments, status=0):
    """Its output, or its errors if it is to fail. It runs in FOLDER, where it finds no images and leaves its curves."""
    result = subprocess.run([os.path.join(PROGRAMS, program), *map(str, arguments)], cwd=FOLDER, capture_output=True, text=True)
    if result.returncode != status:
        sys.exit(f"{program} {arguments}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout if status == 0 else result.stderr


def check(condition, what):
    if not condition:
        sys.exit(f"not so: {what}")


def image(draw, label, channels, size):
    """Grey noise, and a bright bar whose place tells the label."""
    rows = [[draw.randrange(90) for _ in range(size)] for _ in range(channels * size)]
    for c in range(channels):
        for y in range(size):
            for x in range(3 * label % (size - 3), 3 * label % (size - 3) + 3):
                rows[c * size + y][x] = 200 + draw.randrange(50)
    return bytes(v for row in rows for v in row)


def write_cifar(folder, train, test):
    draw = random.Random(1)
    for name, count in (("data_batch_1.bin", train), ("test_batch.bin", test)):
        with open(os.path.join(folder, name), "wb") as out:
            for i in range(count):
                out.write(bytes([i % 10]) + image(draw, i % 10, 3, 32))


def write_mnist(folder, train, test):
    draw = random.Random(2)
    for name, count in (("train", train), ("t10k", test)):
        with open(os.path.join(folder, f"{name}-labels-idx1-ubyte"), "wb") as out:
            out.write(struct.pack(">II", 2049, count) + bytes(i % 10 for i in range(count)))
        with open(os.path.join(folder, f"{name}-images-idx3-ubyte"), "wb") as out:
            out.write(struct.pack(">IIII", 2051, count, 28, 28))
            for i in range(count):
                out.write(image(draw, i % 10, 1, 28))


def epochs(text):
    """The lines of the epochs, without their times."""
    return re.findall(r"^(epoch .*%)", text, re.M)


def numbers(line):
    loss, accuracy = re.search(r"loss (\S+)  test accuracy +(\S+)", line).groups()
    return float(loss), float(accuracy)


def test_iris(folder, *options):
    curve = os.path.join(folder, "loss.svg")
    output = run("iris_train", "--adam=classic", f"--curve={curve}", *options)
    losses = [float(x) for x in re.findall(r"loss: (0\.\d+|1\.\d+)$", output, re.M)]
    check(len(losses) == 10, "ten losses are printed")
    for ours, theirs in zip(losses, TUTORIAL):
        check(abs(ours - theirs) < 1.5e-7, f"{ours} is the tutorial's {theirs} to seven digits")
    check("30 of 30 right" in output, "all test flowers are right")
    check(output.startswith("iris_train: "), "the first line says what it will do")
    check_curve(output.splitlines()[-1], "loss.svg")
    check("no such option" in run("iris_train", "--adam=other", status=1), "an unknown option is an error")
    for program in ("iris_train", "iris_predict"):
        text = run(program, folder + "/none", status=1)
        check(len(text.splitlines()) == 1 and text.startswith(f"{program}: no {folder}/none/iris.csv: name the folder that holds iris.csv"),
              f"one line says how to name the data: {text}")


def test_training(program, folder, options):
    whole = epochs(run(program, "--data", folder, "--epochs", 4, *options))
    check(len(whole) == 4, "a line for each epoch")
    check(numbers(whole[-1])[0] < 0.8 * numbers(whole[0])[0], f"the loss falls: {whole}")
    check(numbers(whole[-1])[1] >= 50, f"the bars are told apart: {whole}")
    for workers in (0, 3):
        other = epochs(run(program, "--data", folder, "--epochs", 1, "--workers", workers, *options))
        check(other == whole[:1], f"the same numbers with {workers} workers: {other} {whole}")
    kept = os.path.join(folder, program + ".safetensors")
    first = epochs(run(program, "--data", folder, "--epochs", 2, "--checkpoint", kept, *options))
    second = run(program, "--data", folder, "--epochs", 4, "--checkpoint", kept, *options)
    check("going on after epoch 2" in second, "the checkpoint is found")
    check(first + epochs(second) == whole, f"a stopped run goes on with the same numbers: {first} {second} {whole}")
    check(epochs(run(program, "--data", folder, "--epochs", 1, "--limit", 40, *options)) != whole[:1], "a limit is taken")
    check_how_to_get(program, run(program, "--data", folder + "/none", status=1), folder + "/none")
    whole = run(program, "--data", folder, "--epochs", 1, *options).splitlines()
    check(whole[0].startswith(f"{program}: ") and folder in whole[0], f"the first line says what it will do: {whole[0]}")
    check_curve(whole[-1], f"{program}.svg")


def check_how_to_get(program, text, looked_for):
    check(len(text.splitlines()) == 1 and text.startswith(f"{program}: no images in "), f"one line says what is missing: {text}")
    for part in (looked_for, "apt install dataset-fashion-mnist", "cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"):
        check(part in text, f"{part} is named: {text}")


def check_curve(line, name):
    path = os.path.join(os.path.realpath(FOLDER), name)
    check(line.startswith("look at " + path), f"the last line says what to look at: {line}")
    check(open(path).read().count("<svg") == 1, "the curve is drawn")
    os.remove(path)


def test_without_images(program):
    """It runs at once all the same, on what is installed or on images that it draws."""
    lines = run(program, "--epochs", 2, "--limit", 3000, "--batch-size", 50, "--lr", 0.003).splitlines()
    if os.path.exists(INSTALLED):
        check(INSTALLED in lines[0], f"takes what is installed: {lines[0]}")
    else:
        check_how_to_get(program, lines.pop(0), INSTALLED)
        check("draws itself" in lines[0], f"says what it takes instead: {lines[0]}")
        check(numbers(lines[2])[1] > 30, f"learns them: {lines[2]}")
    check_curve(lines[-1], f"{program}.svg")


def curves(plot):
    """How many the SVG file has."""
    return open(plot).read().count("<polyline")


def test_on_cuda(folder):
    test_iris(folder, "--device", "cuda")
    plot = os.path.join(folder, "products.svg")
    output = run("devices", "--largest", 64, "--plot", plot)
    for wanted in ("DEVICE: cuda", "cuda::is_available() -> true", "x.to(device) -> tensor([1, 2, 3], device='cuda:0'), get_device() 0",
                   "x + x.cuda() -> Expected all tensors to be on the same device", "x.add_(y) takes 0 KB more", "x + y takes 4096 KB more"):
        check(wanted in output, f"{wanted}: {output}")
    check(len(re.findall(r"^(?:cpu|cuda:0) +\d+ x \d+ .*GFLOP/s$", output, re.M)) == 4, output)
    check(curves(plot) == 2, "the products of both devices are drawn")
    if not os.path.exists(os.path.join(PROGRAMS, "cifar_train")):
        print("cifar_train is not built")
        return
    write_cifar(folder, 16, 4)  # each image takes a fifth of a second on the simulator
    options = ("--data", folder, "--device", "both", "--batch-size", 8, "--workers", 1)
    lines = epochs(run("cifar_train", *options, "--epochs", 1))
    check(len(lines) == 2, f"a line for each device: {lines}")
    check(abs(numbers(lines[0])[0] - numbers(lines[1])[0]) < 1e-3, f"both devices learn the same: {lines}")
    plot = os.path.join(folder, "speed.svg")
    output = run("cifar_train", *options, "--compare", plot, "--batch-sizes", "4,8")
    check(len(re.findall(r"^(?:cpu|cuda:0) +batches of", output, re.M)) == 4, output)
    check(curves(plot) == 2, "the comparison of both devices is drawn")


def main():
    global FOLDER
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = folder
        if sys.argv[2:] == ["cuda"]:
            test_on_cuda(folder)
            return
        test_iris(folder)
        for program, write, options in (("cifar_train", write_cifar, ("--batch-size", 40, "--lr", 0.005)),
                                        ("mnist_mlp", write_mnist, ("--batch-size", 40))):
            if not os.path.exists(os.path.join(PROGRAMS, program)):
                print(program, "is not built")
                continue
            images = os.path.join(folder, program)
            os.mkdir(images)
            write(images, 400, 100)
            test_training(program, images, options)
            test_without_images(program)
        if os.path.exists(os.path.join(PROGRAMS, "cifar_train")):
            plot = os.path.join(folder, "speed.svg")
            output = run("cifar_train", "--data", os.path.join(folder, "cifar_train"), "--device", "both", "--limit", 80,
                         "--compare", plot, "--batch-sizes", "20,40")
            check(len(re.findall("cpu +batches of", output)) == 2, output)
            check("cuda" in output or "no CUDA device" in output, output)
            check(open(plot).read().count("<svg") == 1, "the comparison is drawn")
    print("the programs train, stop, go on and draw")


main()
