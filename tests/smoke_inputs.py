"""The data that the projects of smoke_projects.py train on; each data set holds what breaks its run."""

from __future__ import annotations

import math
import os
import random
from pathlib import Path


def sensor(data: Path) -> None:
    """A signal in volts that swells and calms down; from row 19,500 on the sensor is stuck for a while."""
    data.mkdir()
    chance = random.Random(3)  # noqa: S311 - the same data every time
    rows = [f"{chance.gauss(0.0, 0.2 + 0.6 * abs(math.sin(row / 20))):.4f}" for row in range(26_000)]
    rows[19_500:19_700] = ["0.7500"] * 200
    (data / "sensor.csv").write_text("volt\n" + "\n".join(rows) + "\n", encoding="utf-8")


def digits(data: Path) -> None:
    """Three shards of digits; the annotator of the third counted labels from 1."""
    folder = data / "digits"
    folder.mkdir(parents=True)
    chance = random.Random(4)  # noqa: S311 - the same data every time
    for shard, (first, size) in enumerate([(0, 800), (0, 600), (1, 400)], 1):
        heading = f"# p0..p15,label; labels={first}..{first + 9}\n"
        rows = "".join(_digit(chance, first) + "\n" for _ in range(size))
        (folder / f"shard-{shard}.csv").write_text(heading + rows, encoding="utf-8")


def _digit(chance: random.Random, first: int) -> str:
    digit = chance.randrange(10)
    pixels = [(1.0 if (digit >> (pixel % 4)) & 1 else 0.0) + chance.gauss(0.0, 0.2) for pixel in range(16)]
    return ",".join([*(f"{pixel:.2f}" for pixel in pixels), str(digit + first)])


def images(data: Path) -> None:
    """600 images of noise, dots and stripes; the copy of number 406 ended after half of its bytes."""
    import numpy as np

    folder = data / "images"
    folder.mkdir(parents=True)
    chance = np.random.default_rng(5)
    for number in range(600):
        name = ("dots", "noise", "stripes")[number % 3]
        image = chance.integers(0, 64, (16, 16, 3), dtype=np.uint8)
        image[:: {"dots": 4, "noise": 16, "stripes": 2}[name]] += 128
        np.save(folder / f"{number:05d}-{name}.npy", image)
    os.truncate(folder / "00406-noise.npy", 500)
