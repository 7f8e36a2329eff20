"""Which row a risk belongs to, and what its columns take."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import write

from experiment_debugger.errors import DebuggerError
from experiment_debugger.project import Project
from experiment_debugger.writeback.boards import RISKS
from experiment_debugger.writeback.recording import Recorded
from experiment_debugger.writeback.risks import RiskWish, record_risk

HEAD = f"| {' | '.join(RISKS.columns)} |\n|{'---|' * len(RISKS.columns)}\n"
HAND = "| RSK-003 | deadline | open | low | low | The paper is late | all |  |  | user-stated | 2026-01-01 |\n"


@pytest.fixture
def place(tmp_path: Path) -> Project:
    return Project(tmp_path)


def text(place: Project) -> str:
    return (place.root / RISKS.file).read_text(encoding="utf-8")


def say(place: Project, fingerprint: str | None = None, **given: str) -> Recorded:
    return record_risk(place, RiskWish(**given), {}, fingerprint, today="2026-11-30")


def test_the_same_fingerprint_is_updated_and_not_doubled(place: Project) -> None:
    first = say(place, "0f3a91c2d0aa7b5e", summary="Loss is NaN in run 41")
    again = say(place, "0f3a91c2d0aa7b5e", status="mitigated", summary="Loss is NaN in run 42")
    assert (first.id, first.action, again.id, again.action) == ("RSK-001", "added", "RSK-001", "updated")
    assert "| Loss is NaN in run 42 <!-- ed:fp=0f3a91c2d0aa7b5e --> |" in text(place)
    assert again.row["Summary"] == "Loss is NaN in run 42"
    assert say(place, summary="Loss is NaN in run 42").action == "unchanged", "no run: the same words are the same risk"
    assert say(place, "1111111111111111", summary="Loss is NaN in run 42").action == "added", "another cause is another"


def test_words_without_a_run_are_known_by_themselves(place: Project) -> None:
    assert [say(place, summary=f"risk {number}").id for number in (1, 2)] == ["RSK-001", "RSK-002"]
    again = say(place, summary="  Risk  1 ", severity="HIGH")
    assert (again.id, again.action, again.row["Severity"]) == ("RSK-001", "updated", "high")


def test_only_what_was_given_is_changed(place: Project) -> None:
    say(place, "0f3a91c2d0aa7b5e", summary="a", severity="fatal", mitigation="by hand")
    found = record_risk(
        place, RiskWish(status="closed"), {"Severity": "low", "Summary": "b"}, "0f3a91c2d0aa7b5e", today="2026-12-01"
    )
    assert (found.row["Severity"], found.row["Summary"], found.row["Mitigation"]) == ("fatal", "a", "by hand")


def test_a_row_written_by_hand_is_found_by_its_words_or_its_id(place: Project) -> None:
    write(place.root / RISKS.file, HEAD + HAND)
    assert say(place, summary="The paper is late").action == "unchanged"
    assert text(place) == HEAD + HAND
    assert say(place, id="rsk-003", status="closed").action == "updated"
    assert text(place) == HEAD + HAND.replace(" open ", " closed ").replace("2026-01-01", "2026-11-30")


def test_a_kind_that_the_board_uses_is_allowed(place: Project) -> None:
    write(place.root / RISKS.file, HEAD + HAND)
    assert say(place, summary="x", kind="Deadline").row["Kind"] == "deadline"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "foo"}, "expected --kind one of novelty, baseline, mechanism, evaluation, writing, execution"),
        ({"status": "done"}, "expected --status one of open, mitigated, accepted, closed; found 'done'"),
        ({"severity": "huge"}, "expected --severity one of low, medium, high, fatal"),
        ({"probability": "sure"}, "expected --probability one of low, medium, high"),
        (
            {"certainty": "yes"},
            "expected --certainty one of observed, user-stated, inferred, stale, needs-ver",
        ),
        ({"summary": " "}, "expected --summary for a new risk"),
        ({"id": "RSK-900"}, "expected the id of a risk in memory/risk-board.md; found 'RSK-900'; known: none"),
    ],
)
def test_a_wrong_value_names_the_allowed_ones_and_writes_nothing(
    place: Project, given: dict[str, str], words: str
) -> None:
    with pytest.raises(DebuggerError) as caught:
        say(place, **{"summary": "x", **given})
    assert words in str(caught.value)
    assert not (place.root / RISKS.file).exists()


def test_secrets_and_markup_do_not_reach_the_board(place: Project) -> None:
    say(place, summary="token=hf_" + "a1B2" * 8 + " | ## x\n| RSK-900 |", threatens="<!-- ed:fp=00000000 -->")
    assert "hf_a1B2" not in text(place)
    assert text(place).count("\n") == 5
    assert say(place, summary="next").id == "RSK-901", "a number in a text is not given again either"
