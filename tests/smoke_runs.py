"""A small project in git whose run 42 has really failed, without torch, so that a smoke test of it takes a second."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from samples import write

TRAIN = """\
import argparse
import json
import pathlib
import time

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=40)
parser.add_argument("--pause", type=float, default=0.0)
options = parser.parse_args()
samples = json.loads(pathlib.Path("data/samples.json").read_text())
output = pathlib.Path("outputs/42")
output.mkdir(parents=True, exist_ok=True)
weight = 0.5
for step in range(1, options.steps + 1):
    x, y = samples[step % len(samples)]
    loss = (weight * x - y) ** 2
    weight -= 0.1 * (weight * x - y) * x
    print(f"step {step}/{options.steps} loss {loss:.4f}", flush=True)
    (output / "last.json").write_text(json.dumps({"step": step, "weight": weight}))
    time.sleep(options.pause)
print("Training finished", flush=True)
"""
BROKEN = TRAIN.replace("x, y = samples[step % len(samples)]", "x, y = samples[step - 1]")
"""There are 30 samples: the 31st step fails."""
JOB = "command: {python} train.py\ncommit: {commit}\n"


@dataclass(frozen=True)
class SmokeProject:
    """The project, the commit of the failed run, and the one that fixes it."""

    root: Path
    broken: str
    fixed: str

    def git(self, *arguments: str) -> str:
        return git(self.root, *arguments)

    @property
    def started(self) -> list[Path]:
        """The folders of the smoke tests that were started."""
        return sorted((self.root / ".experiment-debugger" / "smoke").glob("s-*"))


def git(root: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(root), *who, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(root: Path, message: str) -> str:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", message)
    return git(root, "rev-parse", "HEAD")


def failed_project(root: Path) -> SmokeProject:
    """Run 42 fails at step 31 at the first commit; the second commit fixes it."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    write(root / ".gitignore", "data/\noutputs/\nlogs/\njobs/\n.experiment-debugger/\n")
    write(root / "train.py", BROKEN)
    write(root / "data" / "samples.json", str([[1 + i % 7 / 10, 2 + i % 7 / 5] for i in range(30)]))
    broken = commit(root, "train")
    run_once(root)
    write(root / "jobs" / "42.yaml", JOB.format(python=sys.executable, commit=broken))
    write(root / "train.py", TRAIN)
    return SmokeProject(root, broken, commit(root, "start anew after the last sample"))


def run_once(root: Path, *arguments: str) -> None:
    """The real run, as a job would leave it."""
    (root / "logs").mkdir(exist_ok=True)
    with (root / "logs" / "run-42.log").open("wb") as log:
        subprocess.run([sys.executable, "train.py", *arguments], cwd=root, stdout=log, stderr=log, check=False)


def processes_of(marker: str) -> list[int]:
    """Processes that carry the marker of a smoke test in their environment."""
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and marker in process.environ().get("EXPERIMENT_DEBUGGER_SMOKE", ""):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found
