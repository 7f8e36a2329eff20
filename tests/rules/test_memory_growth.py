"""Memory that grows until it is used up, told from caches, running maxima and what fills by design."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from curve_runs import NAN, Columns, decay, judge, level

COUNT = 200
MEMORY = {"gpu-memory-growth", "gpu-memory-leak", "host-memory-growth"}
LEAK = [1000.0 + 10 * i + 5 * (i % 3) for i in range(COUNT)]
FLAT = level(COUNT, 1000.0, noise=10.0)
FILLS = [1000.0 + 2000 * (1 - math.exp(-8 * i / COUNT)) for i in range(COUNT)]
MAXIMUM = [1000.0 + 150 * math.log1p(i) for i in range(COUNT)]


def run(key: str, values: list[float], **more: list[float]) -> Columns:
    return {"train/loss": decay(len(values)), key: values, **more}


CASES: dict[str, tuple[Columns, set[str]]] = {
    "leak on the GPU": (run("gpu_mem_mb", LEAK), {"gpu-memory-growth", "gpu-memory-leak"}),
    "leak on the host": (run("rss_mb", LEAK), {"host-memory-growth"}),
    "flat": (run("gpu_mem_mb", FLAT), set()),
    "flat on the host": (run("rss_mb", FLAT), set()),
    "host cache that fills": (run("rss_mb", FILLS), set()),
    "running maximum on the host": (run("rss_mb", MAXIMUM), set()),
    "a jump": (run("gpu_mem_mb", FLAT[:100] + [2 * value for value in FLAT[100:]]), set()),
    "sequences that get longer": (
        run("gpu_mem_mb", LEAK, seq_len=[64.0 + i for i in range(COUNT)]),
        {"gpu-memory-growth"},
    ),
    "replay memory": (run("rss_mb", LEAK, episode_reward=level(COUNT, 1.0)), set()),
    "memory that a tracker samples of every run": (run("system.proc.memory.rssMB", LEAK), set()),
    "the same when memory gets scarce": (
        run("system.proc.memory.rssMB", LEAK, **{"system.memory_percent": [30 + i / 4 for i in range(COUNT)]}),
        {"host-memory-growth"},
    ),
    "what is left": (run("free_mem_mb", LEAK), set()),
    "three points": (run("rss_mb", [1.0, 2.0, 3.0]), set()),
    "few points": (run("gpu_mem_mb", LEAK[:6]), set()),
    "constant": (run("rss_mb", [1000.0] * COUNT), set()),
    "not a number": (run("rss_mb", [NAN] * COUNT), set()),
    "huge": (run("rss_mb", [1e300] * COUNT), set()),
}


@pytest.mark.parametrize("name", CASES)
def test_growth_and_its_lookalikes(name: str, tmp_path: Path) -> None:
    columns, expected = CASES[name]
    found, diagnosis = judge(tmp_path, columns, every=1)
    assert MEMORY & set(found) == expected
    assert (diagnosis.verdict == "failure") == bool(expected - {"gpu-memory-growth"})


def test_units_and_holes_do_not_matter(tmp_path: Path) -> None:
    values = [value * 2**20 for value in LEAK]
    values[50] = NAN
    assert "gpu-memory-leak" in judge(tmp_path, run("gpu.0.memoryAllocatedBytes", values), every=1)[0]


def test_growth_begins_anew_after_a_restart(tmp_path: Path) -> None:
    values, steps = LEAK[:60] + LEAK[:60], [*range(60), *range(40, 100)]
    found, _ = judge(tmp_path, run("rss_mb", values), steps=steps)
    assert found["host-memory-growth"].position.step is not None
    assert found["host-memory-growth"].position.step >= 40


def test_a_failed_allocation_speaks_for_itself(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "run-42" / "train.log"
    log.parent.mkdir(parents=True)
    log.write_text(
        "".join(f"step {i} loss {2 - i / 500:.4f}\n" for i in range(COUNT))
        + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of "
        "79.15 GiB of which 1.20 MiB is free. Including non-PyTorch memory, this process has 79.10 GiB in use.\n",
        encoding="utf-8",
    )
    found, diagnosis = judge(tmp_path, run("gpu_mem_mb", LEAK), every=1)
    assert MEMORY & set(found) == {"gpu-memory-growth"}
    assert diagnosis.modes[0].mode == "oom"
