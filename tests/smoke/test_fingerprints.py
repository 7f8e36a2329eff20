"""Fingerprints notice what happened to artifacts, also at the ends of files too large to read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from samples import write

from experiment_debugger.smoke import fingerprints
from experiment_debugger.smoke.fingerprints import changed, fingerprint


def test_nothing_happened(tmp_path: Path) -> None:
    write(tmp_path / "a/x.pt", "x")
    named = [tmp_path / "a", tmp_path / "none"]
    before = fingerprint(named)
    os.utime(tmp_path / "a/x.pt", (1, 1))
    assert changed(before, fingerprint(named)) == []


def test_what_happened_is_said(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path / name, "x")
    named = [tmp_path / name for name in "abc"]
    before = fingerprint(named)
    write(tmp_path / "a", "y")
    (tmp_path / "b").unlink()
    write(tmp_path / "c", "z")
    assert changed(before, fingerprint(named)) == [
        f"modified: {tmp_path}/a",
        f"removed: {tmp_path}/b",
        f"created: {tmp_path}/c",
    ]


@pytest.mark.parametrize("place", [0, 999])
def test_the_ends_of_a_large_file_count_even_with_the_same_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr(fingerprints, "LARGEST_WHOLE", 500)
    monkeypatch.setattr(fingerprints, "END", 10)
    path = tmp_path / "large.pt"
    path.write_bytes(bytes(1000))
    before, times = fingerprint([path]), path.stat()
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"1")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert changed(before, fingerprint([path])) == [f"modified: {path}"]


def test_all_bytes_count_until_the_budget_is_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints, "MOST_WHOLE", 10)
    for name in "ab":
        (tmp_path / name).write_bytes(bytes(8))
    prints = fingerprint([tmp_path])
    assert "-" not in prints[tmp_path / "a"]
    assert prints[tmp_path / "b"].startswith("8-")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_no_error(tmp_path: Path) -> None:
    write(tmp_path / "x", "x")
    (tmp_path / "x").chmod(0)
    assert fingerprint([tmp_path / "x"]) == {tmp_path / "x": fingerprints.UNREADABLE}


def test_pipes_are_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert fingerprint([tmp_path, tmp_path / "pipe"]) == {}
