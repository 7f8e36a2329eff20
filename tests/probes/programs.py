"""Runs a program under the agent, and reads back what it wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment_debugger.probes import injected, launched

PYTHON = sys.executable
LIMIT_S = 120
Row = dict[str, Any]

MLP = """\
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step(poison=1.0):
    loss = ((model(torch.randn(4, 8)) - 1) ** 2).mean() * poison
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
"""
"""A small model; `step()` trains it once."""


@dataclass(frozen=True)
class Ran:
    """A finished program and its records, by process."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def processes(self) -> list[list[Row]]:
        files = sorted(self.folder.glob("probe-*.jsonl"))
        return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]

    def rows(self, kind: str) -> list[Row]:
        return [row for rows in self.processes for row in rows if row["kind"] == kind]

    @property
    def losses(self) -> list[Any]:
        return [row["loss"] for row in self.rows("step")]


class Programs:
    """Programs in one folder, as a user keeps them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.records = folder / "records"
        self.folder.mkdir()
        self.records.mkdir()

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, *argv: str | Path, env: dict[str, str] | None = None, **config: Any) -> Ran:
        """Run a command, `python` where it begins with none, with probe.json made of `config`."""
        return self._run(launched(self._command(argv)), injected(self._environment(env), self._probe(config)))

    def run_script(self, text: str, *argv: str, env: dict[str, str] | None = None, **config: Any) -> Ran:
        return self.run(self.write("train.py", text), *argv, env=env, **config)

    def run_alone(self, *argv: str | Path, env: dict[str, str] | None = None) -> Ran:
        """The same without the agent."""
        return self._run(self._command(argv), self._environment(env))

    def _command(self, argv: tuple[str | Path, ...]) -> tuple[str, ...]:
        words = tuple(map(str, argv))
        return words if "python" in os.path.basename(words[0]) else (PYTHON, *words)

    def _environment(self, env: dict[str, str] | None) -> dict[str, str]:
        inherited = {name: text for name, text in os.environ.items() if name not in {"PYTHONPATH", "RANK"}}
        return {**inherited, "OMP_NUM_THREADS": "1", **(env or {})}

    def _probe(self, config: dict[str, Any]) -> Path:
        path = self.records / "probe.json"
        path.write_text(json.dumps({"id": "s-1", "records": str(self.records), **config}), encoding="utf-8")
        for old in self.records.glob("probe-*.jsonl"):
            old.unlink()
        return path

    def _run(self, argv: tuple[str, ...], env: dict[str, str]) -> Ran:
        done = subprocess.run(
            argv, cwd=self.folder, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        return Ran(done.returncode, done.stdout, done.stderr, self.records)
