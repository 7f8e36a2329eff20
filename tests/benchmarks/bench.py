"""Cost of the first answer and of the log scan, as ratios of two things measured in the same run on the same machine.

    python tests/benchmarks/bench.py

1. CPU of `debug` on a 200 kB log against a script that imports yaml and defines one pydantic model.
2. CPU of scanning a large log against `grep -c -a -F -f` with the literals of all signatures.
3. Heavy modules that the first answer has loaded; there should be none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPEATS = 5
SMALL, LARGE = 200_000, 60_000_000
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


def write_log(folder: Path, size: int) -> Path:
    """A project with one run "42" whose training log ends in an out-of-memory error."""
    log = folder / "logs" / "run-42.log"
    log.parent.mkdir(parents=True)
    with log.open("w", encoding="utf-8") as file:
        step = 0
        while file.tell() < size:
            file.writelines(line_of(number) for number in range(step, step + 1000))
            step += 1000
        file.write(FAILURE)
    return log


def line_of(step: int) -> str:
    """One healthy line."""
    return f"2026-03-01 10:{step // 60 % 60:02}:{step % 60:02} INFO step {step} loss {2 + 1 / (step + 1):.4f} lr 3.0e-04 {step % 97} samples/s\n"


def cpu(argv: list[str]) -> float:
    """CPU seconds of the cheapest of a few runs of a command, children included."""
    costs = []
    for _ in range(REPEATS):
        before = os.times()
        subprocess.run(argv, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
    from experiment_debugger.rules.base import load_rulebook

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
        small, large = folder / "small", folder / "large"
        write_log(small, SMALL)
        log = write_log(large, LARGE)
        base = cpu([sys.executable, "-c", BASELINE])
        debug = [sys.executable, "-m", "experiment_debugger.cli", "debug", "42", "--project"]
        first, scan = cpu([*debug, str(small)]), cpu([*debug, str(large)])
        print(
            f"first answer, 200 kB log: {first:.3f} s CPU; yaml + one pydantic model: {base:.3f} s; ratio {first / base:.2f}"
        )
        print(f"heavy modules loaded by it: {', '.join(loaded(small)) or 'none'}")
        grep = grep_cost(folder, log)
        ratio = f"; grep -c -a -F -f: {grep:.3f} s; ratio {(scan - first) / grep:.2f}" if grep else "; no grep here"
        print(f"scan, {LARGE / 1e6:.0f} MB log: {scan - first:.3f} s CPU{ratio}")


if __name__ == "__main__":
    main()
