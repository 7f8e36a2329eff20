"""Run the cases of cases.py for real and keep what they leave in projects/ (see README.md; run by hand, as root)."""

import fnmatch
import gzip
import json
import platform
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sandbox
from case import Case
from cases import CASES

HERE = Path(__file__).resolve().parent
PROJECTS = HERE / "projects"
PRUNED = ("__pycache__", "*.pt", "*.pth", "*.bin", "*.safetensors", "shards", "data")
# A host name may be as short as two letters: it counts as a whole word between quotes, blanks, "=", ":" or "@".
HOST_NAME = rb"(?<=[\s\"'=:@])" + re.escape(platform.node().encode()) + rb"(?=[\s\"':,])"
CHECKOUT = re.escape(str(HERE.parents[2]).encode()) + rb"/"
ADVERTISED = re.compile(rb"https://[a-z.]+/project/")
FORBIDDEN = re.compile(CHECKOUT + rb"|/tmp/|/root\b|\.pyenv|py(?:pi\.org|thonhosted)|" + HOST_NAME)
MAX_BYTES = 1_500_000


def build(case: Case, project: Path) -> None:
    """Write the project as it is before its run is started."""
    for name, text in case.files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copyfile(HERE / "programs" / f"{case.program}.py", project / "train.py")


def prune(case: Case, project: Path) -> None:
    """Take away binaries, data and links to absolute paths."""
    for path in sorted(project.rglob("*"), reverse=True):
        name = path.relative_to(project).as_posix()
        if path.is_symlink():
            path.unlink()
        elif name not in case.keep and any(fnmatch.fnmatch(path.name, pattern) for pattern in PRUNED):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for folder in sorted((p for p in project.rglob("*") if p.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def scrub(project: Path) -> None:
    """Lightning advertises a package by its address at the registry; everything else is neutral from the start."""
    for path in project.rglob("*.log"):
        data = path.read_bytes()
        path.write_bytes(ADVERTISED.sub(b"https://example.org/project/", data))


def read_bytes(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def find_line(project: Path, case: Case) -> tuple[Path, str, int]:
    """The file, its text and the offset of the first match; rotated files are searched oldest (highest) first."""
    paths = sorted(project.glob(case.path), reverse=True)
    for path in paths:
        text = read_bytes(path).decode("utf-8")
        if match := re.search(case.pattern or "", text, re.MULTILINE):
            return path, text, match.start()
    raise LookupError(f"{case.name}: no line like {case.pattern!r} in {[p.name for p in paths] or case.path}")


def onset(case: Case, project: Path, text: str) -> int | None:
    """The onset step; `text` ends with the key line."""
    if callable(case.step):
        return case.step(project)
    return int(re.findall(case.step, text, re.MULTILINE)[-1]) if isinstance(case.step, str) else case.step


def expect(case: Case, project: Path) -> dict[str, object]:
    path, text, offset = find_line(project, case) if case.pattern else (next(project.glob(case.path)), "", 0)
    end = text.find("\n", offset) + 1
    return {
        "run_id": case.run_id,
        "verdict": case.verdict,
        "mode": case.mode,
        "exception": case.exception,
        "line": text.count("\n", 0, offset) + 1 if case.pattern else None,
        "path": path.relative_to(project).as_posix(),
        "step": onset(case, project, text[:end]),
        "note": case.note,
    }


def make(case: Case, overlay: Path) -> str:
    """Build, run and keep one case; the answer is a line for the console."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="case-") as folder:
        project = Path(folder)
        project.chmod(0o755)
        build(case, project)
        code = sandbox.run_driver(project, overlay, case.driver)
        prune(case, project)
        scrub(project)
        shutil.rmtree(PROJECTS / case.name, ignore_errors=True)
        shutil.copytree(project, PROJECTS / case.name)
    expected = expect(case, PROJECTS / case.name)
    text = json.dumps(expected, indent=2, ensure_ascii=False) + "\n"
    (PROJECTS / case.name / "expected.json").write_text(text, encoding="utf-8")
    place = f"{expected['path']}:{expected['line']} step {expected['step']}"
    return f"{case.name}: exit {code}, {time.monotonic() - start:.1f}s, {place}"


def attempt(case: Case, overlay: Path) -> bool:
    try:
        print(make(case, overlay), flush=True)
    except Exception as error:  # noqa: BLE001 - one case that does not work must not cost the others
        print(f"{case.name}: NOT MADE: {error!r}", file=sys.stderr, flush=True)
        return False
    return True


def leaks() -> list[str]:
    """Places where a path or name of this machine is left."""
    files = sorted(p for p in PROJECTS.rglob("*") if p.is_file())
    found = [(path, match.group()) for path in files for match in FORBIDDEN.finditer(read_bytes(path))]
    return [f"{path.relative_to(PROJECTS)}: {leak!r}" for path, leak in found]


def main() -> int:
    wanted = sys.argv[1:]
    cases = [case for case in CASES if not wanted or case.name in wanted]
    PROJECTS.mkdir(exist_ok=True)
    with sandbox.workspace() as overlay, ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda case: attempt(case, overlay), cases))
    size = sum(p.stat().st_size for p in PROJECTS.rglob("*") if p.is_file())
    problems = leaks() + ([f"{size} bytes are more than {MAX_BYTES}"] if size > MAX_BYTES else [])
    print(f"{sum(made)} of {len(cases)} cases made, {size} bytes in all", *problems, sep="\n")
    return int(bool(problems) or not all(made))


if __name__ == "__main__":
    sys.exit(main())
