#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first 50 losses of the examples as PyTorch computes them, from weights that NumPy makes.

    example_losses.py              (needs torch) runs the examples with PyTorch in the place of burn: writes example_losses.json
    start_file(name, shapes, path) writes the weights that an example is to start from, for its --start

Where two elements of a max-pool are nearly equal, the last bit of a sum decides which gets the gradient: then the later
losses of two right programs part. With the convnet's seed, PyTorch's losses in float32 and in float64 stay within 1e-4.
"""
import importlib
import json
import pathlib
import runpy
import sys
import tempfile
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples/python"
STEPS = 50
RUNS = {  # name: (file, arguments)
    "mlp": ("fashion_mnist.py", ["--net", "mlp"]),
    "convnet": ("fashion_mnist.py", ["--net", "convnet", "--seed", "3"]),
    "gpt": ("char_gpt.py", ["--batch", "8", "--context", "32", "--sample", "0"]),
    "gru": ("names_gru.py", ["--batch", "64"]),
}


def weights(name, shapes):
    """Matrices as torch.nn.Linear draws them, ones and zeros for the vectors of norms and other biases near zero."""
    made = {}
    for key, shape in shapes.items():
        random = np.random.RandomState(zlib.crc32(f"{name}.{key}".encode()))
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 64
        values = random.uniform(-1, 1, shape) / np.sqrt(fan_in)
        made[key] = (values + (1 if "norm" in key and key.endswith("weight") else 0)).astype(np.float32)
    return made


def start_file(name, shapes, path):
    np.savez(path, **weights(name, shapes))


def shapes_of(file, arguments):
    """Parameter shapes of the net that an example builds: by building it."""
    module = runpy.run_path(str(EXAMPLES / file))
    if file == "fashion_mnist.py":
        model = module["NETS"][arguments[1]]()
    elif file == "char_gpt.py":
        model = module["GPT"](65, int(arguments[3]))
    else:
        model = module["NameNet"]()
    return {name: tuple(value.shape) for name, value in model.state_dict().items()}


def run(name, folder):
    """The losses of one example, with whatever stands behind the name burn."""
    file, arguments = RUNS[name]
    start_file(name, shapes_of(file, arguments), folder / "start.npz")
    sys.argv = [file, *arguments, "--steps", str(STEPS), "--json", "--start", str(folder / "start.npz"),
                "--losses", str(folder / "losses")]
    runpy.run_path(str(EXAMPLES / file), run_name="__main__")
    return [float(line) for line in (folder / "losses").read_text().split()]


def main():
    for part in ("", ".nn", ".nn.functional", ".nn.utils.rnn", ".optim"):
        sys.modules["burn" + part] = importlib.import_module("torch" + part)
    sys.path.insert(0, str(EXAMPLES))
    with tempfile.TemporaryDirectory() as folder:
        losses = {name: run(name, pathlib.Path(folder)) for name in RUNS}
    text = ",\n".join(f'"{name}": {json.dumps(values)}' for name, values in losses.items())
    (HERE / "example_losses.json").write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    main()
