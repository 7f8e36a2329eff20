"""Hand-offs to sibling skills: an open one is changed, an edited payload is never written over."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from samples import write

from experiment_debugger.errors import DebuggerError
from experiment_debugger.project import Project
from experiment_debugger.writeback.boards import HANDOFFS
from experiment_debugger.writeback.handoffs import given_values, take_incoming, write_handoff
from experiment_debugger.writeback.recording import Recorded, read_rows

PAYLOAD = "docs/ops/handoffs/42-to-run-experiment.yaml"
HEAD = f"| {' | '.join(HANDOFFS.columns)} |\n|{'---|' * len(HANDOFFS.columns)}\n"


@pytest.fixture
def place(tmp_path: Path) -> Project:
    return Project(tmp_path)


def hand(place: Project, status: str = "proposed", **values: str) -> Recorded:
    row = {"Status": status, "Producer": "experiment-debugger", "Consumer": "run-experiment", "Source paths": PAYLOAD}
    return write_handoff(place, "42", "run-experiment", {"run": "42", **values}, row, "2026-11-30")


def test_an_open_hand_off_is_changed_and_a_taken_one_stays(place: Project) -> None:
    assert [hand(place).id, hand(place, "ready").id, hand(place, "ready").action] == ["HND-001", "HND-001", "unchanged"]
    board = place.root / HANDOFFS.file
    board.write_text(board.read_text(encoding="utf-8").replace("ready", "consumed"), encoding="utf-8")
    assert hand(place, "ready").id == "HND-002"
    assert [row.values["Status"] for row in read_rows(place, HANDOFFS)] == ["consumed", "ready"]


def test_a_payload_that_somebody_edited_is_kept_and_its_values_are_given(place: Project) -> None:
    hand(place, commit="aaa")
    hand(place, commit="bbb")
    assert yaml.safe_load((place.root / PAYLOAD).read_text(encoding="utf-8")) == {"run": "42", "commit": "bbb"}
    assert given_values(place, "42", "run-experiment") == {}
    edited = (place.root / PAYLOAD).read_text(encoding="utf-8") + "command: sbatch jobs/42.sh\n"
    write(place.root / PAYLOAD, edited)
    assert given_values(place, "42", "run-experiment")["command"] == "sbatch jobs/42.sh"
    hand(place, commit="ccc")
    assert (place.root / PAYLOAD).read_text(encoding="utf-8") == edited


@pytest.mark.parametrize("text", ["a: [", "- 1\n", "x"])
def test_an_edited_payload_that_is_no_mapping_is_reported(place: Project, text: str) -> None:
    write(place.root / PAYLOAD, text)
    with pytest.raises(DebuggerError, match=rf"expected YAML in {PAYLOAD}, which somebody has edited"):
        given_values(place, "42", "run-experiment")


def row(name: str, status: str, consumer: str, payload: str, paths: str) -> str:
    cells = dict.fromkeys(HANDOFFS.columns, "x") | {
        "ID": name, "Status": status, "Consumer": consumer, "Payload": payload, "Source paths": paths,
    }  # fmt: skip
    return f"| {' | '.join(cells.values())} |\n"


def test_only_what_is_ready_for_us_about_this_run_is_taken(place: Project) -> None:
    us = "experiment-debugger"
    rows = [
        row("HND-001", "ready", us, "debug it", "docs/ops/runs/42-status.md"),
        row("HND-002", "ready", us, "run 42 hangs", "logs/a.log"),
        row("HND-003", "ready", us, "run 421", "logs/a.log"),
        row("HND-004", "proposed", us, "run 42", "logs/a.log"),
        row("HND-005", "ready", "run-experiment", "run 42", "logs/a.log"),
        row("HND-006", "ready", us, "after 42 steps", "logs/a.log"),
    ]
    write(place.root / HANDOFFS.file, HEAD + "".join(rows))
    assert take_incoming(place, "42", "2026-11-30") == ("HND-001", "HND-002")
    after = (place.root / HANDOFFS.file).read_text(encoding="utf-8").splitlines(keepends=True)[2:]
    assert after[2:] == rows[2:]
    assert all("| consumed |" in line and "| 2026-11-30 |" in line for line in after[:2])
    assert take_incoming(place, "42", "2026-12-01") == ()
