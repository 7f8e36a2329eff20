"""What was overwritten under the same name since a run was first looked at."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from samples import Cli, steps, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "runs" / "exp-42" / "train.log", "".join(steps(range(30))) + "Training finished\n")
    write(tmp_path / "runs" / "exp-42" / "config.yaml", "lr: 0.1\n")
    (tmp_path / "runs" / "exp-42" / "last.pt").write_bytes(os.urandom(3 << 20))
    (tmp_path / ".git").mkdir()
    return tmp_path


def context(cli: Cli, root: Path) -> dict[str, Any]:
    done = cli("gather-run-context", "exp-42", "--json", "--project", str(root))
    assert done.code == 0, done.err
    return dict(json.loads(done.out))


def test_inputs_that_were_overwritten_are_told_and_logs_may_grow(cli: Cli, root: Path) -> None:
    folder = root / "runs" / "exp-42"
    assert context(cli, root)["changed"] == []
    os.utime(folder / "config.yaml", (1, 1))
    with (folder / "train.log").open("a", encoding="utf-8") as log:
        log.write("more\n")
    assert context(cli, root)["changed"] == [], "another date and a longer log are no change"
    write(folder / "config.yaml", "lr: 0.2\n")
    with (folder / "last.pt").open("r+b") as checkpoint:
        checkpoint.seek(-10, os.SEEK_END)
        checkpoint.write(b"0123456789")
    told = context(cli, root)["changed"]
    assert [line.partition(": not what it was on 20")[0] for line in told] == [
        "runs/exp-42/config.yaml",
        "runs/exp-42/last.pt",
    ]
    assert "- changed: runs/exp-42/config.yaml" in cli("debug", "exp-42", "--project", str(root)).out
    assert sorted(path.name for path in root.iterdir()) == [".git", "runs"], "nothing is written into the project"


def test_a_damaged_or_missing_cache_is_no_reason_to_give_no_answer(cli: Cli, root: Path) -> None:
    context(cli, root)
    (kept,) = (Path(os.environ["XDG_CACHE_HOME"]) / "experiment-debugger" / "seen").glob("*.json")
    for damage in ('{"a": 1}', "[1]", "{", '{"runs/exp-42/config.yaml": ["x"]}'):
        kept.write_text(damage, encoding="utf-8")
        assert context(cli, root)["changed"] == []
    assert kept.stat().st_size > 50, "it is remembered again"
