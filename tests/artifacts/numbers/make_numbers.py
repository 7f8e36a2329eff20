"""Run the cases of numbers_cases.py for real and keep what they leave in projects/ (see README.md; as root)."""

import fnmatch
import json
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import sandbox  # noqa: E402
from make_artifacts import ADVERTISED, FORBIDDEN, PRUNED  # noqa: E402
from numbers_cases import CASES  # noqa: E402
from run import Run  # noqa: E402

PROJECTS = HERE / "projects"
INDEX = PROJECTS / "expected.json"
NOTES = "notes.json"
PRUNED_TOO = ("*.ckpt", "*.cache", "tmp", "requirements.txt", "debug-internal.log")
TIMEOUT = 600  # seconds; alone a run takes 3 to 15
MOST_BYTES, MOST_BYTES_A_RUN = 4_000_000, 300_000


def build(case: Run, project: Path) -> None:
    """Write the project as it is before its run is started."""
    for name, text in case.written().items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copyfile(HERE / "programs" / f"{case.program}.py", project / "train.py")
    for module in case.modules:
        shutil.copyfile(HERE / "programs" / f"{module}.py", project / f"{module}.py")


def prune(project: Path) -> None:
    """Take away checkpoints, caches and links, and addresses that libraries advertise."""
    for path in sorted(project.rglob("*"), reverse=True):
        if path.is_symlink():
            path.unlink()
        elif any(fnmatch.fnmatch(path.name, pattern) for pattern in PRUNED + PRUNED_TOO):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    for path in project.rglob("*.log"):
        path.write_bytes(ADVERTISED.sub(b"https://example.org/project/", path.read_bytes()))


def expect(case: Run, notes: dict[str, int]) -> dict[str, Any]:
    """What a diagnosis of the run must say; `step` is what the run itself noted."""
    expected: dict[str, Any] = {"run_id": case.run, "source": case.source}
    expected["verdict"] = "failure" if case.mode else "healthy"
    if case.mode:
        expected |= {"mode": case.mode, "rules": list(case.rules), "one_of": list(case.one_of)}
        expected["step"] = notes["onset"] if case.onset else None
        expected["steps"] = planned(case)
    elif case.rules:
        expected["rules"] = list(case.rules)
    return {**expected, "note": case.note}


def planned(case: Run) -> int | None:
    """Optimizer steps of the whole run, where the config says so."""
    config = case.config
    if "batches" in config:
        return int(config["epochs"] * config["batches"])
    return config.get("steps") or config.get("trainer", {}).get("max_steps")


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def make(case: Run, overlay: Path) -> dict[str, Any]:
    """Build, run and keep one case; prints a line and gives what is expected of it."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="case-") as folder:
        project = Path(folder)
        project.chmod(0o755)
        build(case, project)
        code = sandbox.run_driver(project, overlay, case.script(), timeout=TIMEOUT)
        if code != case.exit_code:
            raise RuntimeError(f"exit {code} instead of {case.exit_code}: {(project / case.log).read_text()[-300:]}")
        notes = project / NOTES
        noted = json.loads(notes.read_text(encoding="utf-8")) if notes.exists() else {}
        notes.unlink(missing_ok=True)
        prune(project)
        shutil.rmtree(PROJECTS / case.name, ignore_errors=True)
        shutil.copytree(project, PROJECTS / case.name)
    expected, size = expect(case, noted), size_of(PROJECTS / case.name)
    seconds = time.monotonic() - start
    print(f"{case.name}: exit {code}, {seconds:.1f}s, {size} bytes, onset {expected.get('step')}", flush=True)
    return expected


def attempt(case: Run, overlay: Path) -> dict[str, Any] | None:
    try:
        return make(case, overlay)
    except Exception as error:  # noqa: BLE001 - one case that does not work must not cost the others
        print(f"{case.name}: NOT MADE: {error!r}", file=sys.stderr, flush=True)
        return None


def write_index(made: dict[str, dict[str, Any] | None]) -> None:
    """One index of what is there, in the order of the table."""
    before = json.loads(INDEX.read_text(encoding="utf-8")) if INDEX.exists() else {}
    known = {**before, **{name: about for name, about in made.items() if about is not None}}
    rows = {case.name: known[case.name] for case in CASES if case.name in known}
    INDEX.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def problems() -> list[str]:
    """Places where a path or name of this machine is left, large projects, and projects that no case makes."""
    files = sorted(path for path in PROJECTS.rglob("*") if path.is_file())
    leaks = {(path, match.group()) for path in files for match in FORBIDDEN.finditer(path.read_bytes())}
    known, folders = {case.name for case in CASES}, [path for path in PROJECTS.iterdir() if path.is_dir()]
    strays = [f"{folder.name}: of no case" for folder in folders if folder.name not in known]
    large = [f"{folder.name}: too large" for folder in folders if size_of(folder) > MOST_BYTES_A_RUN]
    return sorted(f"{path.relative_to(PROJECTS)}: {leak!r}" for path, leak in leaks) + strays + large


def main() -> int:
    wanted = sys.argv[1:]
    cases = [case for case in CASES if not wanted or case.name in wanted]
    PROJECTS.mkdir(exist_ok=True)
    with sandbox.workspace() as overlay, ThreadPoolExecutor(2) as pool:
        made = dict(zip((c.name for c in cases), pool.map(lambda case: attempt(case, overlay), cases), strict=True))
    write_index(made)
    size, found = size_of(PROJECTS), problems()
    found += [f"{size} bytes are more than {MOST_BYTES}"] if size > MOST_BYTES else []
    done = sum(about is not None for about in made.values())
    print(f"{done} of {len(cases)} cases made, {size} bytes in all", *found, sep="\n")
    return int(bool(found) or done < len(cases))


if __name__ == "__main__":
    sys.exit(main())
