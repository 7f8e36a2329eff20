"""The one pass over a log: line numbers, segments, packed files, damage, engines."""

from __future__ import annotations

import gzip
import io
import lzma
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers import lines
from experiment_debugger.readers.files import is_text, open_artifact
from experiment_debugger.readers.lines import Consumer, Line, Scan
from experiment_debugger.readers.literals import PlainIndex, index_of
from experiment_debugger.readers.timestamps import Clock

LOG = b"start\nstep 1 ok\nFAILED here\nnext\n\nFAILED again\nend"


class Recorder(Consumer):
    """Remembers the numbers and texts of lines with FAILED, and of `after` lines behind each."""

    literals = (b"FAILED",)

    def __init__(self, after: int = 0) -> None:
        self.seen: list[tuple[int, str]] = []
        self.followed: list[int] = []
        self._after, self._left = after, 0

    def candidate(self, line: Line, hits: Sequence[tuple[int, int]]) -> None:
        self.seen.append((line.number, line.around(hits[0][1])))
        self._left = self._after
        self.following = self._left > 0

    def follow(self, line: Line) -> None:
        self.followed.append(line.number)
        self._left -= 1
        self.following = self._left > 0


def packed(suffix: str, data: bytes) -> bytes:
    if suffix == ".gz":
        return gzip.compress(data)
    return lzma.compress(data) if suffix == ".xz" else zstandard.ZstdCompressor().compress(data)


def scan(data: bytes, *, after: int = 0, plain: bool = False) -> tuple[Recorder, lines.ScanStats]:
    recorder = Recorder(after)
    compiled = Scan([recorder.literals], force_plain=plain)
    return recorder, compiled.run_stream(io.BytesIO(data), [recorder], Clock())


def test_line_numbers_count_newlines_only() -> None:
    recorder, stats = scan(LOG)
    assert recorder.seen == [(3, "FAILED here"), (6, "FAILED again")]
    assert (stats.lines, stats.last_line, stats.last_text) == (7, 7, "end")


def test_a_following_consumer_gets_every_next_line_once() -> None:
    recorder, _ = scan(LOG, after=2)
    assert recorder.followed == [4, 5, 7]


def test_chunk_borders_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scan(LOG * 50, after=2)[0]
    for size in (1, 7, 64, 1000):
        monkeypatch.setattr(lines, "CHUNK_BYTES", size)
        cut = scan(LOG * 50, after=2)[0]
        assert (cut.seen, cut.followed) == (whole.seen, whole.followed)


def test_segments_of_a_progress_bar_are_one_line() -> None:
    recorder, stats = scan(b" 1%|  | 1/9\r 2%| | FAILED 2/9\r 3%| | 3/9\nnext\n")
    assert recorder.seen == [(1, " 2%| | FAILED 2/9")]
    assert stats.lines == 2


def test_escapes_and_undecodable_bytes_do_not_hide_a_match() -> None:
    recorder, _ = scan(b"\x1b[31mFAILED\x1b[0m caf\xe9\n")
    assert recorder.seen == [(1, "FAILED caf\ufffd")]


def test_a_megabyte_line_is_windowed_and_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 100_000)
    monkeypatch.setattr(lines, "CHUNK_BYTES", 30_000)
    recorder, stats = scan(b"a\n" + b"x" * 1_000_000 + b"FAILED" + b"y" * 5000 + b"\nFAILED\n")
    assert [number for number, _ in recorder.seen] == [2, 3]
    assert len(recorder.seen[0][1]) <= 2 * lines.WINDOW
    assert stats.lines == 3


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_packed_logs_are_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run.log{suffix}"
    path.write_bytes(packed(suffix, LOG))
    recorder = Recorder()
    stats = Scan([recorder.literals]).run(path, [recorder], Clock())
    assert [number for number, _ in recorder.seen] == [3, 6]
    assert stats.problem is None


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_cut_packed_log_gives_what_is_there_and_says_so(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run.log{suffix}"
    noise = b"".join(b"step %d loss %s\n" % (i, os.urandom(8).hex().encode()) for i in range(20_000))
    whole = packed(suffix, LOG + b"\n" + noise)
    path.write_bytes(whole[: len(whole) // 2])
    recorder = Recorder()
    stats = Scan([recorder.literals]).run(path, [recorder], Clock())
    if suffix != ".zst":  # zstandard ends a cut stream without an error
        assert stats.problem is not None
    if stats.lines:
        assert [number for number, _ in recorder.seen] == [3, 6]


def test_not_a_gzip_file_is_said_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "run.log.gz"
    path.write_bytes(b"plain text")
    stats = Scan([()]).run(path, [], Clock())
    assert stats.problem is not None
    assert "\n" not in stats.problem


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.log")
    for path in (tmp_path / "run.log", tmp_path, tmp_path / "missing.log"):
        with pytest.raises(UnreadableArtifact, match="expected"):
            open_artifact(path)


def test_binary_is_told_from_text() -> None:
    assert is_text("Schritt 1 fertig, Größe 3\n".encode("latin-1"))
    assert is_text(b"\x1b[31mred\x1b[0m\r\n")
    assert not is_text(bytes(range(256)) * 8)


WORDS = st.sampled_from([b"oom_kill", b"oom_kill event", b"event", b"aaaa", b"aa", b"\xff\xfe", b"(a.b)*"])


@given(
    literals=st.lists(WORDS, min_size=1, max_size=5, unique=True),
    data=st.lists(st.one_of(WORDS, st.binary(max_size=5))),
)
def test_both_engines_find_the_same(literals: list[bytes], data: list[bytes]) -> None:
    block = b"".join(data)
    assert index_of(literals).find(block) == PlainIndex(literals).find(block)


def test_a_notebook_reads_as_a_log_with_the_lines_of_its_json(tmp_path: Path) -> None:
    path = tmp_path / "run.ipynb"
    path.write_text('{\n "outputs": [\n  "\\u001b[0;31mFAILED\\u001b[0m: x\\n",\n  "b"\n ]\n}\n', encoding="utf-8")
    recorder = Recorder()
    Scan([recorder.literals]).run(path, [recorder], Clock())
    assert recorder.seen == [(3, "FAILED: x")]
