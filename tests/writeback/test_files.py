"""The one way into the project's files: what can go wrong leaves the old content and one clear line."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from samples import write

from experiment_debugger.errors import DebuggerError
from experiment_debugger.project import Project
from experiment_debugger.writeback import files
from experiment_debugger.writeback.files import update, writing


@pytest.fixture
def place(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    write(root / "memory" / "board.md", "old\n")
    return Project(root)


def board(place: Project) -> Path:
    return place.root / "memory" / "board.md"


def names(place: Project) -> list[str]:
    return sorted(path.name for path in (place.root / "memory").iterdir())


def test_a_file_is_replaced_with_its_mode_kept(place: Project) -> None:
    board(place).chmod(0o640)
    assert update(place, board(place), lambda raw: (raw or b"") + b"new\n")
    assert board(place).read_bytes() == b"old\nnew\n"
    assert stat.S_IMODE(board(place).stat().st_mode) == 0o640
    assert names(place) == ["board.md"]
    assert (place.root / ".experiment-debugger" / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_nothing_new_leaves_the_file_untouched(place: Project) -> None:
    before = board(place).stat()
    assert not update(place, board(place), lambda raw: raw)
    assert not update(place, board(place), lambda _: None)
    assert board(place).stat() == before


def test_folders_are_made_for_a_new_file(place: Project) -> None:
    path = place.root / "docs" / "ops" / "runs" / "42-debug.md"
    assert update(place, path, lambda raw: b"made" if raw is None else None)
    assert path.read_bytes() == b"made"


def test_what_an_editor_saves_meanwhile_is_not_lost(place: Project) -> None:
    seen: list[bytes | None] = []

    def transform(raw: bytes | None) -> bytes:
        seen.append(raw)
        if len(seen) == 1:  # the editor saves as editors do: a new file under the old name
            draft = place.root / "memory" / "board.md~"
            draft.write_bytes(b"old\nby hand\n")
            draft.replace(board(place))
        return (raw or b"") + b"ours\n"

    assert update(place, board(place), transform)
    assert seen == [b"old\n", b"old\nby hand\n"]
    assert board(place).read_bytes() == b"old\nby hand\nours\n"


def test_a_file_that_never_rests_is_left_to_its_editor(place: Project) -> None:
    def transform(raw: bytes | None) -> bytes:
        board(place).write_bytes((raw or b"") + b"x")
        return b"ours"

    with pytest.raises(DebuggerError, match="something saved it 5 times meanwhile"):
        update(place, board(place), transform)
    assert board(place).read_bytes() == b"old\nxxxxx"
    assert names(place) == ["board.md"]


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "open"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT])
def test_a_full_or_read_only_disk_leaves_the_old_file(
    place: Project, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    with writing(place):  # the lock itself is had before
        original = getattr(os, call)

        def fail(*arguments: object, **more: object) -> object:
            if call == "open" and not str(arguments[0]).endswith(".tmp"):
                return original(*arguments, **more)
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, call, fail)
        with pytest.raises(DebuggerError) as caught:
            update(place, board(place), lambda _: b"new" * 9000)
        monkeypatch.undo()
    assert str(caught.value).startswith("expected to write memory/board.md; found: ")
    assert os.strerror(code).lower() in str(caught.value)
    assert board(place).read_bytes() == b"old\n"
    assert names(place) == ["board.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_folder_is_told(place: Project) -> None:
    (place.root / "memory").chmod(0o555)
    try:
        with pytest.raises(DebuggerError, match="permission denied"):
            update(place, board(place), lambda _: b"new")
    finally:
        (place.root / "memory").chmod(0o755)


def test_a_link_inside_the_project_stays_a_link(place: Project) -> None:
    real = place.root / "shared" / "board.md"
    write(real, "real\n")
    board(place).unlink()
    board(place).symlink_to(real)
    assert update(place, board(place), lambda raw: (raw or b"") + b"new\n")
    assert board(place).is_symlink()
    assert real.read_bytes() == b"real\nnew\n"


@pytest.mark.parametrize("kind", ["folder", "file", "dangling", "state"])
def test_a_link_that_leads_outside_is_refused(place: Project, tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside"
    write(outside / "board.md", "theirs\n")
    if kind == "folder":
        board(place).unlink()
        (place.root / "memory").rmdir()
        (place.root / "memory").symlink_to(outside, target_is_directory=True)
    elif kind == "state":
        (place.root / ".experiment-debugger").symlink_to(outside, target_is_directory=True)
    else:
        board(place).unlink()
        board(place).symlink_to(outside / ("board.md" if kind == "file" else "none.md"))
    with pytest.raises(DebuggerError, match=r"leads to .*outside.* nothing was written"):
        update(place, board(place), lambda _: b"new")
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"board.md": b"theirs\n"}


def test_something_else_than_a_file_is_refused(place: Project) -> None:
    board(place).unlink()
    board(place).mkdir()
    with pytest.raises(DebuggerError, match=r"expected a file at memory/board\.md; found something else"):
        update(place, board(place), lambda _: b"new")


def test_drafts_of_killed_writers_go_and_other_files_stay(place: Project) -> None:
    for name in (".board.md.ed-4711.tmp", ".board.md.ed-mine.tmp", ".other.md.ed-1.tmp", "board.md.swp"):
        write(place.root / "memory" / name, "x")
    update(place, board(place), lambda _: b"new")
    assert names(place) == [".board.md.ed-mine.tmp", ".other.md.ed-1.tmp", "board.md", "board.md.swp"]


def test_threads_of_one_server_take_turns(place: Project) -> None:
    def add() -> None:
        for _ in range(20):
            update(place, board(place), lambda raw: (raw or b"") + b"+")

    threads = [threading.Thread(target=add) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert board(place).read_bytes() == b"old\n" + b"+" * 100


def test_who_holds_the_lock_may_write_again(place: Project) -> None:
    with writing(place), writing(place):
        assert update(place, board(place), lambda _: b"new")


def test_a_writer_that_hangs_is_named(place: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys, pathlib\nfrom experiment_debugger.project import Project\n"
        "from experiment_debugger.writeback.files import writing\n"
        "with writing(Project(pathlib.Path(sys.argv[1]))):\n print('held', flush=True)\n sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(place.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    monkeypatch.setattr(files, "LOCK_SECONDS", 0.2)
    try:
        with pytest.raises(DebuggerError, match=r"another process holds \.experiment-debugger/write\.lock"):
            update(place, board(place), lambda _: b"new")
    finally:
        other.communicate("")
    assert update(place, board(place), lambda _: b"new"), "the lock of a process that has gone is free"
