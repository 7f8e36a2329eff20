"""Interpreters whose options hide sitecustomize are led through the launcher, unseen by the program."""

from __future__ import annotations

import json
import zipfile

import pytest
from probes.programs import PYTHON, Programs

from experiment_debugger.probes import LAUNCHER, launched


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python -I x.py a", "python -I LAUNCH x.py a"),
        ("/usr/bin/python3.11 -sE x.py -I", "/usr/bin/python3.11 -sE LAUNCH x.py -I"),
        ("python3 -E -m pkg a", "python3 -E LAUNCH -m pkg a"),
        ("python -Im pkg a", "python -I LAUNCH -m pkg a"),
        ("python -Impkg a", "python -I LAUNCH -m pkg a"),
        ("python -W error -S -u x.py", "python -W error -S -u LAUNCH x.py"),
        ("python -S -Xdev -Wd x.py", "python -S -Xdev -Wd LAUNCH x.py"),
        ("python -I -- x.py", "python -I -- LAUNCH x.py"),
        ("python --check-hash-based-pycs always -I x.py", "python --check-hash-based-pycs always -I LAUNCH x.py"),
        ("python x.py -I", None),
        ("python -u -s -P x.py", None),
        ("python -WIES x.py", None),
        ("python -W E x.py", None),
        ("python -I -c pass", None),
        ("python -Ic pass", None),
        ("python -I -x x.py", None),
        ("python -I", None),
        ("python -I -", None),
        ("bash -E x.sh", None),
        ("torchrun -I x.py", None),
        ("", None),
    ],
)
def test_commands(command: str, expected: str | None) -> None:
    words = tuple((expected or command).replace("LAUNCH", str(LAUNCHER)).split())
    assert launched(command.split()) == words


SEES = """\
'''A program.'''
import json, sys
class Here: pass
print(json.dumps({
    "path": sys.path, "argv": sys.argv, "file": __file__, "name": __name__, "doc": __doc__,
    "spec": __spec__ and [__spec__.name, __spec__.origin],
    "package": __package__, "main": sorted(vars(sys.modules["__main__"])), "same": sys.modules["__main__"].Here is Here,
    "loader": type(__loader__).__name__,
}))
"""
OPTIONS = ["-I", "-E", "-S", "-IS", "-sE"]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("program", [["train.py"], ["-m", "pkg.train"], ["-m", "pkg"], ["folder"], ["archive.zip"]])
def test_the_program_sees_what_python_shows_it(programs: Programs, option: str, program: list[str]) -> None:
    for name in ("train.py", "pkg/train.py", "pkg/__main__.py", "folder/__main__.py"):
        programs.write(name, SEES)
    with zipfile.ZipFile(programs.folder / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", SEES)
    ran = programs.run(PYTHON, option, *program, "--lr", "1")
    alone = programs.run_alone(PYTHON, option, *program, "--lr", "1")
    assert (ran.code, ran.err) == (alone.code, alone.err)
    if alone.code == 0:  # under -I a package of the current folder is not found
        assert json.loads(ran.out) == json.loads(alone.out)
    assert len(ran.rows("loaded")) == 1


@pytest.mark.parametrize(
    "text",
    ["def f():\n    1 / 0\nf()", "import sys\nsys.exit(7)", "raise SystemExit('text')", "x = (", "import nothing"],
)
def test_endings_are_the_same(programs: Programs, text: str) -> None:
    script = programs.write("train.py", text)
    ran, alone = programs.run(PYTHON, "-I", script), programs.run_alone(PYTHON, "-I", script)
    assert (ran.code, ran.out, ran.err) == (alone.code, alone.out, alone.err)


def test_a_missing_script_is_told_by_its_path(programs: Programs) -> None:
    ran, alone = programs.run(PYTHON, "-I", "none.py"), programs.run_alone(PYTHON, "-I", "none.py")
    assert (ran.code, ran.err) == (alone.code, alone.err)


def test_spawned_children_find_the_main_module(programs: Programs) -> None:
    text = """\
import multiprocessing
def work(number):
    return number + 1
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, [1]))
"""
    ran = programs.run(PYTHON, "-E", programs.write("train.py", text))
    assert (ran.code, ran.out) == (0, "[2]\n"), ran.err
