"""What was printed before the stop is part of the log, what is printed while being ended is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from experiment_debugger.smoke import output
from experiment_debugger.smoke.output import Console


def test_what_waits_in_the_pipe_at_the_stop_was_printed_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "READ_BYTES", 1)
    monkeypatch.setattr(output, "SETTLE_SECONDS", 30.0)  # so that a busy machine does not fail the test
    (tmp_path / "console.log").touch()
    console = Console(str(tmp_path / "console.log"), 1 << 20)
    reads, writes = os.pipe()
    os.write(writes, b"x" * 30_000 + b"\nlast\n")
    with os.fdopen(reads, "rb", buffering=0) as stream:
        console.follow(stream)
        console.log_is_over()
        os.write(writes, b"goodbye\n")
        os.close(writes)
        console.finish()
    assert (tmp_path / "console.log").read_bytes().endswith(b"x\nlast\n")
    assert console.last_words == "goodbye\n"
