"""Cost of the first answer and of the log scan, as ratios of two things measured in the same run on the same machine.

    python tests/benchmarks/bench.py

1. CPU of `debug` on a 200 kB log against a script that imports yaml and defines one pydantic model.
2. CPU of a large log, dense with progress reports and without, against `grep -c -a -F -f` with the literals of all
   signatures.
3. Heavy modules that the first answer has loaded; there should be none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

REPEATS = 3
SMALL, DENSE, SPARSE = 200_000, 4_000_000, 100_000_000
DEBUG = [sys.executable, "-m", "experiment_debugger.cli", "debug", "42", "--project"]
HEAVY = ("mcp", "tensorboard", "matplotlib", "numpy", "torch")
BASELINE = "import yaml\nfrom pydantic import BaseModel\nclass Point(BaseModel):\n    step: int\nPoint(step=1)\n"
PROBE = (
    "import sys; from experiment_debugger.cli import main; status = main(sys.argv[1:]);"
    f"print('LOADED', *[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr); sys.exit(status)"
)
FAILURE = """Traceback (most recent call last):
  File "/home/ann/proj/train.py", line 88, in <module>
    loss = model(batch).loss
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.15 GiB of \
which 1.20 GiB is free. Including non-PyTorch memory, this process has 77.90 GiB memory in use. Of the allocated \
memory 74.10 GiB is allocated by PyTorch, and 2.61 GiB is reserved by PyTorch but unallocated.
"""


def write_log(folder: Path, size: int, line_of: Callable[[int], str]) -> Path:
    """A project with one run "42" whose log ends in an out-of-memory error."""
    log = folder / "logs" / "run-42.log"
    log.parent.mkdir(parents=True)
    with log.open("w", encoding="utf-8") as file:
        step = 0
        while file.tell() < size:
            file.writelines(line_of(number) for number in range(step, step + 1000))
            step += 1000
        file.write(FAILURE)
    return log


def progress(step: int) -> str:
    """A line of a loop that reports every step."""
    time = f"2026-03-01 10:{step // 60 % 60:02}:{step % 60:02}"
    return f"{time} INFO step {step} loss {2 + 1 / (step + 1):.4f} lr 3.0e-04 {step % 97} samples/s\n"


def chatter(step: int) -> str:
    """A line that reports no progress."""
    time = f"2026-03-01 10:{step // 60 % 60:02}:{step % 60:02}"
    return f"{time} DEBUG worker {step % 8} fetched shard-{step:07}.tar in 12 ms\n"


def cpu(argv: list[str]) -> float:
    """CPU seconds of the cheapest of a few runs of a command that must succeed, children included."""
    costs = []
    for _ in range(REPEATS):
        before = os.times()
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        costs.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(costs)


def loaded(project: Path) -> list[str]:
    """Heavy modules that the first answer has imported."""
    argv = [sys.executable, "-c", PROBE, "debug", "42", "--project", str(project)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return done.stderr.rsplit("LOADED", 1)[-1].split()


def grep_cost(folder: Path, log: Path) -> float | None:
    """CPU of grep with the literals of all signatures, where grep exists."""
    from experiment_debugger.rules.rulebook import load_rulebook

    if shutil.which("grep") is None:
        return None
    literals = sorted({text for rule in load_rulebook().signatures.values() for text in rule.match.literals})
    patterns = folder / "literals.txt"
    patterns.write_text("\n".join(literals) + "\n", encoding="utf-8")
    return cpu(["grep", "-c", "-a", "-F", "-f", str(patterns), str(log)])


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tiny, small = folder / "tiny", folder / "small"
        write_log(tiny, 0, progress)
        write_log(small, SMALL, progress)
        base = cpu([sys.executable, "-c", BASELINE])
        first, start = cpu([*DEBUG, str(small)]), cpu([*DEBUG, str(tiny)])
        print(f"first answer, 200 kB log: {first:.3f} s CPU; yaml + pydantic: {base:.3f} s; ratio {first / base:.2f}")
        print(f"heavy modules loaded by it: {', '.join(loaded(small)) or 'none'}")
        for line_of, amount in ((progress, DENSE), (chatter, SPARSE)):
            project = folder / line_of.__name__
            log = write_log(project, amount, line_of)
            scan, grep = cpu([*DEBUG, str(project)]) - start, grep_cost(folder, log)
            ratio = f"; grep: {grep:.3f} s; ratio {scan / grep:.1f}" if grep else "; no grep here"
            print(f"scan, {amount / 1e6:.0f} MB of {line_of.__name__}: {scan:.3f} s CPU{ratio}")


if __name__ == "__main__":
    main()
