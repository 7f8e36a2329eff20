"""Facts about hardware, software and provenance that logs print at start-up, each with the line that says so.

PyTorch: 2.1.2+cu121          GPU 0: NVIDIA RTX A4000           Driver Version: 535.104.05   CUDA Version: 12.2
NCCL version 2.18.3+cuda12.1  git commit 3f2a9c1d               world_size=8
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from experiment_debugger.readers.lines import Consumer, Line

VERSION = r"v?(?P<value>\d+\.\d+[\w.+\-]*)"


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact: `name` as in PATTERNS, its value, and the 1-based line that says it."""

    name: str
    value: str
    line: int


PATTERNS: tuple[tuple[str, tuple[bytes, ...], re.Pattern[str]], ...] = (
    ("torch", (b"PyTorch", b"pytorch", b"torch"), re.compile(r"(?i)\b(?:py)?torch(?:[\s_]version)?\s*(?:==|[:=]|\s)\s*" + VERSION)),
    ("cuda", (b"CUDA", b"cuda"), re.compile(r"(?i)\bcuda(?: ?version| runtime| toolkit)?\s*[:=]?\s*" + VERSION)),
    ("driver", (b"Driver", b"driver"), re.compile(r"(?i)driver(?: version)?\s*[:=]?\s*" + VERSION)),
    ("cudnn", (b"cuDNN", b"cudnn", b"CuDNN"), re.compile(r"(?i)cudnn(?: version)?\s*[:=]?\s*v?(?P<value>\d[\d.]+)")),
    ("nccl", (b"NCCL version", b"nccl"), re.compile(r"(?i)nccl version\s*[:=]?\s*" + VERSION)),
    ("python", (b"Python", b"python"), re.compile(r"(?i)\bpython(?: version)?\s*[:=]?\s*(?P<value>[23]\.\d+\.\d+)")),
    ("transformers", (b"ransformers",), re.compile(r"(?i)\btransformers(?: version)?\s*(?:==|[:=]|\s)\s*" + VERSION)),
    ("lightning", (b"ightning",), re.compile(r"(?i)\blightning(?: version)?\s*(?:==|[:=]|\s)\s*" + VERSION)),
    ("deepspeed", (b"eepSpeed", b"deepspeed"), re.compile(r"(?i)deepspeed(?: info: version| version)?\s*(?:==|[:=]|\s)\s*" + VERSION)),
    ("tensorflow", (b"ensorFlow", b"tensorflow"), re.compile(r"(?i)\btensorflow(?: version)?\s*(?:==|[:=]|\s)\s*" + VERSION)),
    ("jax", (b"jaxlib", b"jax==", b"jax "), re.compile(r"(?i)\bjax(?:lib)?(?: version)?\s*(?:==|[:=]|\s)\s*" + VERSION)),
    ("numpy", (b"numpy",), re.compile(r"(?i)\bnumpy(?: version)?\s*(?:==|[:=]|\s)\s*" + VERSION)),
    (
        "gpu",
        (b"NVIDIA", b"Tesla", b"GeForce", b"Quadro", b"AMD Instinct", b"H100", b"A100", b"V100", b"RTX"),
        re.compile(
            r"(?P<value>(?:NVIDIA |Tesla |GeForce |Quadro |AMD Instinct )?(?:GeForce )?"
            r"(?:RTX A?\d{4}(?: Ti| Ada| SUPER)?|GTX \d{4}(?: Ti)?|[HABVPTL]\d{2,3}\w?(?:-[A-Z]+\d?)*(?:-\d+GB)?|MI\d{3}X?|TITAN \w+|Quadro \w+))"
        ),
    ),
    ("world_size", (b"world_size", b"world size", b"WORLD_SIZE"), re.compile(r"(?i)world[_ ]size\s*[:=]?\s*(?P<value>\d+)")),
    ("planned_steps", (b"max_steps", b"max_iters", b"total_steps", b"train_iters", b"max_update", b"num_training_steps"), re.compile(
        r"""\b(?:max_steps|max_iters|total_steps|train_iters|max_updates?|num_training_steps)['"]?\s*[=:]\s*(?P<value>[1-9]\d*)\b"""
    )),
    ("classes", (b"num_classes", b"num_labels", b"vocab_size", b"vocab size"), re.compile(
        r"""(?i)\b(?:num_classes|num_labels|(?:padded_)?vocab[_ ]size)['"]?\s*[=:]\s*(?P<value>[1-9]\d*)\b"""
    )),
    ("classes", (b" classes",), re.compile(r"\b(?P<value>[1-9]\d{0,6}) classes\b")),
    ("commit", (b"commit", b"git", b"revision"), re.compile(r"(?i)\b(?:commit|git[-_ ]?(?:hash|sha|rev|commit)|revision)\W{1,4}(?P<value>[0-9a-f]{7,40})\b")),
    ("seed", (b"seed", b"Seed"), re.compile(r"(?i)\bseed(?: set to)?\W{1,3}(?P<value>\d+)\b")),
    ("command", (b"python", b"torchrun", b"accelerate", b"deepspeed"), re.compile(
        r"^(?:\$ |\+ |[Cc]ommand(?: line)?: ?|[Rr]unning: ?)(?P<value>(?:\S+=\S+ )*(?:srun .*?)?(?:python3?|torchrun|accelerate launch|deepspeed|mpirun|horovodrun)\b.*)"
    )),
)  # fmt: skip
KEPT_PER_NAME = 3


class FactReader(Consumer):
    """Collects the first few different values of every fact of one file."""

    literals = tuple(dict.fromkeys(literal for _, literals, _ in PATTERNS for literal in literals))

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self._seen: dict[str, set[str]] = {name: set() for name, _, _ in PATTERNS}
        self._by_literal = [
            tuple((name, pattern) for name, literals, pattern in PATTERNS if literal in literals)
            for literal in self.literals
        ]

    def candidate(self, line: Line, hits: Sequence[tuple[int, int]]) -> None:
        """A line that may state a fact."""
        tested: set[str] = set()
        for literal, offset in hits:
            for name, pattern in self._by_literal[literal]:
                if name in tested or len(self._seen[name]) >= KEPT_PER_NAME:
                    continue
                tested.add(name)
                found = pattern.search(line.around(offset))
                value = found["value"].strip() if found else ""
                if value and value not in self._seen[name]:
                    self._seen[name].add(value)
                    self.facts.append(Fact(name, value, line.number))
