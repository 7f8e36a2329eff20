"""Every Python process says that it has loaded the agent, and notices nothing else of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from probes.programs import PYTHON, Programs

from experiment_debugger.probes import AGENT_CONFIG, INJECTION, injected

OTHER_PYTHONS = sorted(Path(sys.base_prefix).parent.glob("*/bin/python"))
"""Interpreters beside ours, where a version manager has put them."""


def test_a_script_is_recorded_from_start_to_exit(programs: Programs) -> None:
    ran = programs.run_script("print('hello')", "--password", "hunter2")
    assert (ran.code, ran.out, ran.err) == (0, "hello\n", "")
    (loaded, ended) = ran.processes[0]
    assert loaded["kind"] == "loaded"
    assert loaded["argv"][1].endswith("train.py")
    assert "hunter2" not in str(loaded)
    assert loaded["python"] == sys.version.split()[0]
    assert (ended["kind"], ended["step"]) == ("exit", 0)


def test_modules_commands_and_programs_on_standard_input_are_recorded(programs: Programs) -> None:
    programs.write("pkg/__main__.py", "print('module')")
    for argv in (["-m", "pkg"], ["-c", "print('command')"], ["-"]):
        assert len(programs.run(*argv).rows("loaded")) == 1


def test_child_processes_are_recorded_but_not_forked_ones(programs: Programs) -> None:
    ran = programs.run_script(
        """\
import multiprocessing, subprocess, sys
def work(number):
    return number + 1
if __name__ == "__main__":
    subprocess.run([sys.executable, "-c", "pass"])
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(work, [1, 2]) == [2, 3]
"""
    )
    assert ran.code == 0, ran.err
    commands = [" ".join(row["argv"]) for row in ran.rows("loaded")]
    assert sum("train.py" in command for command in commands) == 1
    assert sum("spawn_main" in command for command in commands) == 2
    assert len({row["pid"] for row in ran.rows("loaded")}) == len(commands) == len(ran.processes)


def test_an_uncaught_exception_is_printed_and_the_exit_recorded(programs: Programs) -> None:
    ran = programs.run_script("1 / 0")
    alone = programs.run_alone("train.py")
    assert (ran.code, ran.err) == (alone.code, alone.err)
    assert len(ran.rows("exit")) == 1


SEES = """\
import json, os, sys
print(json.dumps({
    "path": sys.path, "argv": sys.argv, "main": sorted(vars(sys.modules["__main__"])), "file": __file__,
    "meta_path": [str(type(finder)) for finder in sys.meta_path], "hooks": str(sys.excepthook),
    "customized": str(sys.modules.get("sitecustomize")),
}))
"""


def test_the_program_sees_the_same_interpreter(programs: Programs) -> None:
    script = programs.write("train.py", SEES)
    ran, alone = json.loads(programs.run(script, "-x").out), json.loads(programs.run_alone(script, "-x").out)
    assert "imports._Finder" in ran["meta_path"].pop(0)  # while it waits for torch
    assert ran == alone


def test_the_users_own_sitecustomize_is_the_one_that_counts(programs: Programs) -> None:
    own = programs.write("site/sitecustomize.py", "import os, sys\nMARK = 'user'\nPATH = list(sys.path)\n")
    ran = programs.run_script(
        "import sitecustomize; print(sitecustomize.MARK, sitecustomize.__file__, sitecustomize.__spec__.origin)",
        env={"PYTHONPATH": str(own.parent)},
    )
    assert ran.out.split() == ["user", str(own), str(own)], ran.err
    assert len(ran.rows("loaded")) == 1


@pytest.mark.parametrize("text", ["raise ValueError('mine')", "import nothing_of_this_name", "raise SystemExit(3)"])
def test_errors_of_the_users_sitecustomize_are_the_same(programs: Programs, text: str) -> None:
    env = {"PYTHONPATH": str(programs.write("site/sitecustomize.py", text).parent)}
    ran = programs.run_script("import sys; print('sitecustomize' in sys.modules)", env=env)
    alone = programs.run_alone("train.py", env=env)
    assert (ran.code, ran.out, ran.err.splitlines()[-1:]) == (alone.code, alone.out, alone.err.splitlines()[-1:])


def test_without_the_variable_nothing_happens(programs: Programs) -> None:
    env = {"PYTHONPATH": str(INJECTION)}
    ran = programs.run_alone("-c", "import sys; print([name for name in sys.modules if 'probe' in name])", env=env)
    assert (ran.code, ran.out, ran.err) == (0, "[]\n", "")


@pytest.mark.parametrize("text", ["{", "{}", '{"records": "/nowhere/at/all"}'])
def test_a_failure_of_ours_costs_one_line(programs: Programs, text: str) -> None:
    config = programs.write("probe.json", text)
    done = subprocess.run(
        [PYTHON, "-c", "print('goes on')"], env=injected(os.environ, config), capture_output=True, text=True, check=True
    )
    assert done.stdout == "goes on\n"
    assert done.stderr.startswith("experiment-debugger: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("python", OTHER_PYTHONS, ids=lambda path: path.parts[-3])
def test_other_interpreters_run_it_or_pass_it_by(programs: Programs, python: Path) -> None:
    own = programs.write("site/sitecustomize.py", "MARK = 'user'")
    script = programs.write("train.py", "import sys, sitecustomize\nprint(sitecustomize.MARK)\n")
    ran = programs.run(python, script, env={"PYTHONPATH": str(own.parent), "PYTHONDONTWRITEBYTECODE": "1"})
    assert (ran.code, ran.out, ran.err) == (0, "user\n", "")
    version = tuple(int(part) for part in python.parts[-3].split(".")[:2])
    assert len(ran.rows("loaded")) == (version >= (3, 8))


def test_nothing_but_the_shim_becomes_importable() -> None:
    assert [path.name for path in INJECTION.iterdir() if path.name != "__pycache__"] == ["sitecustomize.py"]


def test_the_environment_keeps_the_users_own_path() -> None:
    env = injected({"PYTHONPATH": "/mine", "HOME": "/home"}, Path("/r/probe.json"))
    assert env == {"PYTHONPATH": f"{INJECTION}{os.pathsep}/mine", "HOME": "/home", AGENT_CONFIG: "/r/probe.json"}
    assert injected({}, Path("/r/probe.json"))["PYTHONPATH"] == str(INJECTION)


def test_a_program_that_closes_every_file_writes_into_none_of_its_own(programs: Programs) -> None:
    ran = programs.run_script(
        """\
import os, sys
os.closerange(3, 100)
files = [open(f"own-{number}.txt", "w") for number in range(8)]
assert sys.modules["_experiment_debugger_probe"]
"""
    )
    assert ran.code == 0, ran.err
    assert len(ran.rows("exit")) == 1
    assert {path.read_text() for path in programs.folder.glob("own-*.txt")} == {""}


def test_a_full_records_folder_stays_as_it_is(programs: Programs) -> None:
    programs.run_script("pass")
    for number in range(501):
        (programs.records / f"probe-full-{number}.json").write_text("")
    ran = programs.run_script("print('goes on')")
    assert (ran.code, ran.out, ran.err) == (0, "goes on\n", "")
    assert ran.processes == []


LOST = {
    "an isolated child": "import subprocess, sys; subprocess.run([sys.executable, '-I', '-c', 'pass'])",
    "a path exported over": (
        "import os, subprocess, sys\nos.environ['PYTHONPATH'] = ''\nsubprocess.run([sys.executable, '-c', 'pass'])"
    ),
    "an empty environment": "import subprocess, sys; subprocess.run([sys.executable, '-c', 'pass'], env={})",
}


@pytest.mark.parametrize("text", LOST.values(), ids=LOST)
def test_a_process_that_loses_the_path_leaves_no_handshake(programs: Programs, text: str) -> None:
    ran = programs.run_script(text)
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.rows("loaded")) == 1  # of the program, not of its child
