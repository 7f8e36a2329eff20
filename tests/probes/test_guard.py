"""The run's artifacts stay as they are, whoever writes; everything else is let through."""

from __future__ import annotations

import pytest
from probes.programs import Programs, Ran

ATTEMPTS = {
    "open for writing": "open(artifact, 'w')",
    "open for appending": "open(artifact, 'ab')",
    "open for update": "open(artifact, 'r+')",
    "os.open": "os.open(artifact, os.O_RDWR)",
    "pathlib": "pathlib.Path(artifact).write_text('')",
    "a relative path": "open(os.path.relpath(artifact), 'w')",
    "a link": "os.symlink(artifact, 'link'); open('link', 'w')",
    "rename away": "os.rename(artifact, 'other')",
    "rename onto": "open('other', 'w').close(); os.replace('other', artifact)",
    "remove": "os.remove(artifact)",
    "unlink by a descriptor": "os.unlink('last.pt', dir_fd=os.open('out', os.O_RDONLY))",
    "truncate": "os.truncate(artifact, 0)",
    "link onto": "os.link('train.py', artifact)",
    "move": "shutil.move(artifact, 'other')",
    "copy onto": "shutil.copy('train.py', artifact)",
    "rmtree above": "shutil.rmtree('out')",
    "rename above": "os.rename('out', 'away')",
    "into a protected folder": "open('board/new.txt', 'w')",
    "remove a protected folder": "shutil.rmtree('board')",
}
LOOP = """\
import os, pathlib, shutil, sys
artifact = os.path.abspath("out/last.pt")
for attempt in {attempts!r}:
    try:
        exec(attempt)
    except PermissionError as error:
        print(error)
    else:
        print("not blocked:", attempt)
"""


def protect(programs: Programs, text: str) -> Ran:
    """Run a program with `out/last.pt` and the folder `board` protected."""
    artifact = programs.write("out/last.pt", "weights")
    board = programs.write("board/events", "curve").parent
    ran = programs.run_script(text, protected=[str(artifact), str(board)])
    assert artifact.read_text() == "weights"
    assert [path.name for path in board.iterdir()] == ["events"]
    return ran


def test_no_attempt_gets_through(programs: Programs) -> None:
    ran = protect(programs, LOOP.format(attempts=list(ATTEMPTS.values())))
    assert (ran.code, ran.err) == (0, "")
    assert "not blocked" not in ran.out
    lines = ran.out.splitlines()
    assert lines[0] == (
        f"experiment-debugger: {programs.folder}/out/last.pt belongs to the run's artifacts; write somewhere else"
    )
    assert len(lines) == len(ATTEMPTS)
    assert len(ran.rows("blocked")) == len(lines) + 1  # after a rename that fails, shutil.move tries to copy and remove
    assert ran.rows("blocked")[0] == {
        "kind": "blocked",
        "path": f"{programs.folder}/out/last.pt",
        "operation": "open",
    }


def test_everything_else_passes(programs: Programs) -> None:
    ran = protect(
        programs,
        """\
import os, shutil, tempfile
assert open("out/last.pt").read() == "weights"
assert os.listdir("board") == ["events"]
shutil.copy("out/last.pt", "out/copy.pt")
os.rename("out/copy.pt", "out/best.pt")
os.symlink("last.pt", "out/latest")
os.remove("out/latest")  # the link, not what it points to
os.makedirs("runs/a")
with tempfile.TemporaryDirectory() as folder:
    open(os.path.join(folder, "x"), "w").close()
shutil.rmtree("runs")
file = open("free.txt", "w")
open(file.fileno(), "w", closefd=False)
""",
    )
    assert (ran.code, ran.err) == (0, "")
    assert ran.rows("blocked") == []


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_are_watched_as_well(programs: Programs, method: str) -> None:
    ran = protect(
        programs,
        f"""\
import multiprocessing
def work():
    open("out/last.pt", "w")
if __name__ == "__main__":
    child = multiprocessing.get_context("{method}").Process(target=work)
    child.start()
    child.join()
    print(child.exitcode)
""",
    )
    assert ran.out == "1\n"
    assert len(ran.rows("blocked")) == 1


def test_checkpoints_written_outside_python_are_watched(programs: Programs) -> None:
    pytest.importorskip("torch")
    attempts = [
        "torch.save({}, artifact)",
        "torch.save(obj={}, f=pathlib.Path(artifact))",
        "torch.save({}, open(artifact, 'wb'))",
        "torch.jit.save(torch.jit.script(torch.nn.ReLU()), artifact)",
    ]
    text = "import warnings; warnings.simplefilter('ignore')\nimport torch\n" + LOOP.format(attempts=attempts)
    ran = protect(programs, text + "torch.save({}, 'out/other.pt')\nprint(torch.load('out/other.pt'))\n")
    assert ran.out.splitlines()[-1] == "{}", ran.err
    assert [row["operation"] for row in ran.rows("blocked")] == ["torch.save", "torch.save", "open", "torch.jit.save"]


def test_safetensors_is_watched_where_it_is_used(programs: Programs) -> None:
    """A package of this name, as small as the real one's contract: `save_file` ends in `serialize_file`."""
    programs.write(
        "safetensors/__init__.py", "def serialize_file(tensors, filename, metadata=None):\n    print('wrote')\n"
    )
    programs.write(
        "safetensors/torch.py",
        "from safetensors import serialize_file\ndef save_file(tensors, filename): serialize_file(tensors, filename)\n",
    )
    text = "from safetensors.torch import save_file\nsave_file({}, 'new')\n"
    ran = protect(programs, text + LOOP.format(attempts=["save_file({}, artifact)"]))
    assert ran.out.splitlines()[0] == "wrote"
    assert len(ran.rows("blocked")) == 1
