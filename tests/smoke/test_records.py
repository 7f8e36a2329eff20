"""Records are written below the project alone, and damaged rows of a probe are passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiment_debugger.errors import DebuggerError
from experiment_debugger.smoke.records import Probed, Records, new_records


@pytest.mark.parametrize("link", [".experiment-debugger", ".experiment-debugger/smoke"])
def test_records_do_not_follow_a_link_out_of_the_project(tmp_path: Path, link: str) -> None:
    root, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(elsewhere)
    with pytest.raises(DebuggerError, match=r"^expected to write records below .* leads to .*elsewhere.*; remove.*$"):
        new_records(root)
    assert not list(elsewhere.iterdir())


def test_a_link_within_the_project_is_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / ".experiment-debugger").symlink_to("kept")
    assert new_records(tmp_path).folder.is_dir()


@pytest.mark.parametrize(
    "row",
    [
        '{"kind": "loaded"}',
        '{"kind": "loaded", "pid": "7"}',
        '{"kind": "step", "step": "9", "loss": [1]}',
        '{"kind": "torch"}',
        '{"kind": "blocked", "path": 3}',
        '{"kind": "changed"}',
        '{"kind": "memory", "peak_bytes": "1"}',
        "[1]",
        "[" * 100_000,
        '{"kind": ',
    ],
)
def test_a_damaged_row_says_nothing(tmp_path: Path, row: str) -> None:
    (tmp_path / "probe-7.jsonl").write_text(f'{row}\n{{"kind": "exit"}}\n', encoding="utf-8")
    assert Records(tmp_path).probed() == Probed()
