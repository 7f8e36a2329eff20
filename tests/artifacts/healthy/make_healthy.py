"""Run the cases of healthy_cases.py for real and keep what they leave in projects/ (see README.md; as root)."""

import fnmatch
import gzip
import json
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import sandbox  # noqa: E402
from healthy_cases import CASES, Healthy  # noqa: E402
from make_artifacts import ADVERTISED, FORBIDDEN, PRUNED, read_bytes  # noqa: E402

PROJECTS = HERE / "projects"
INDEX = PROJECTS / "expected.json"
PRUNED_TOO = ("*.ckpt", "*.h5", "*.png", "*.pkl", "*.cache", "ckpt", "weights", "pretrained", "model.deprecated")
PRUNED_HERE = ("tokenizer.json", "*.parquet", "*.wandb", "zero_*", "basic-variant-state-*", "experiment_state-*")
MAX_BYTES = 2_500_000


def build(case: Healthy, project: Path) -> None:
    """Write the project as it is before its run is started."""
    for name, text in {case.job_path: case.job, **case.files}.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copyfile(HERE / "programs" / f"{case.program}.py", project / "train.py")


def prune(case: Healthy, project: Path) -> None:
    """Take away binaries, data, caches and links; pack the log where the case says so."""
    patterns = PRUNED + PRUNED_TOO + PRUNED_HERE
    for path in sorted(project.rglob("*"), reverse=True):
        name = path.relative_to(project).as_posix()
        if path.is_symlink():
            path.unlink()
        elif name not in case.keep and any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for folder in sorted((p for p in project.rglob("*") if p.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    if case.gz:
        log = project / case.log
        log.with_name(f"{log.name}.gz").write_bytes(gzip.compress(log.read_bytes(), 9, mtime=0))
        log.unlink()


def scrub(project: Path) -> None:
    """Some libraries advertise a package by its address at the registry; everything else is neutral from the start."""
    for path in (p for p in project.rglob("*") if p.is_file() and p.suffix != ".gz"):
        data = path.read_bytes()
        if ADVERTISED.search(data):
            path.write_bytes(ADVERTISED.sub(b"https://example.org/project/", data))


def make(case: Healthy, overlay: Path) -> str:
    """Build, run and keep one case; the answer is a line for the console."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="case-") as folder:
        project = Path(folder)
        project.chmod(0o755)
        build(case, project)
        code = sandbox.run_driver(project, overlay, case.script(), timeout=240)
        if not (project / case.log).is_file():
            raise FileNotFoundError(case.log)
        scrub(project)
        prune(case, project)
        shutil.rmtree(PROJECTS / case.name, ignore_errors=True)
        shutil.copytree(project, PROJECTS / case.name)
    size = sum(p.stat().st_size for p in (PROJECTS / case.name).rglob("*") if p.is_file())
    line = f"{case.name}: exit {code}, {time.monotonic() - start:.1f}s, {size} bytes"
    return line if code == 0 else f"{line}  <-- NOT 0"


def attempt(case: Healthy, overlay: Path) -> bool:
    try:
        print(make(case, overlay), flush=True)
    except Exception as error:  # noqa: BLE001 - one case that does not work must not cost the others
        print(f"{case.name}: NOT MADE: {error!r}", file=sys.stderr, flush=True)
        return False
    return True


def write_index() -> None:
    """One index of what is there, in the order of the table."""
    rows = {
        case.name: {"run_id": case.run_id, "framework": case.framework, "traps": list(case.traps)}
        for case in CASES
        if (PROJECTS / case.name).is_dir()
    }
    INDEX.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def leaks() -> list[str]:
    """Places where a path or name of this machine is left."""
    files = sorted(p for p in PROJECTS.rglob("*") if p.is_file())
    found = {(path, match.group()) for path in files for match in FORBIDDEN.finditer(read_bytes(path))}
    return sorted(f"{path.relative_to(PROJECTS)}: {leak!r}" for path, leak in found)


def main() -> int:
    wanted = sys.argv[1:]
    cases = [case for case in CASES if not wanted or case.name in wanted]
    PROJECTS.mkdir(exist_ok=True)
    with sandbox.workspace() as overlay, ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda case: attempt(case, overlay), cases))
    write_index()
    size = sum(p.stat().st_size for p in PROJECTS.rglob("*") if p.is_file())
    problems = leaks() + ([f"{size} bytes are more than {MAX_BYTES}"] if size > MAX_BYTES else [])
    print(f"{sum(made)} of {len(cases)} cases made, {size} bytes in all", *problems, sep="\n")
    return int(bool(problems) or not all(made))


if __name__ == "__main__":
    sys.exit(main())
