"""Step counters that go back, stand still or leave gaps."""

from __future__ import annotations

from pathlib import Path

from curve_runs import decay, judge, level, roots
from event_files import files_of, numbered

FIRST = decay(120)
RULE = "tracker-steps-backwards"


def rounds(values: list[float], size: int) -> list[tuple[int, float]]:
    return [(i % size, value) for i, value in enumerate(values)]


def judged(folder: Path, points: list[tuple[int, float]]) -> dict[str, object]:
    return dict(judge(files_of(folder, "train/loss", points), {"unrelated": [1.0, 2.0]})[0])


def test_the_batch_of_the_epoch_taken_for_the_step(tmp_path: Path) -> None:
    findings, diagnosis = judge(files_of(tmp_path, "train/loss", rounds(decay(300), 60)), {"unrelated": [1.0, 2.0]})
    assert (findings[RULE].position.step, findings[RULE].role) == (0, "root")
    assert diagnosis.modes[0].mode == "silent-error"


def test_folds_one_restart_and_levels_are_silent(tmp_path: Path) -> None:
    assert RULE not in judged(
        tmp_path / "folds", [(step, value) for _ in range(5) for step, value in numbered(decay(60))]
    )
    assert RULE not in judged(tmp_path / "restart", [*numbered(FIRST), *numbered(level(60, 0.4), 90)])
    assert RULE not in judged(tmp_path / "nothing learned", rounds(level(300, 2.3), 60))
    assert RULE not in judged(tmp_path / "few", rounds(decay(9), 3))


def test_a_table_may_count_the_batches_of_an_epoch(tmp_path: Path) -> None:
    findings, _ = judge(tmp_path, {"loss": decay(300)}, steps=[i % 60 for i in range(300)])
    assert RULE not in roots(findings)


def test_values_without_a_step_of_their_own_and_holes_are_facts(tmp_path: Path) -> None:
    findings, _ = judge(files_of(tmp_path / "zero", "train/loss", [(0, v) for v in decay(40)]), {"x": [1.0, 2.0]})
    assert findings["steps-repeated"].role == "context"
    steps = [*range(0, 1000, 10), *range(1500, 2500, 10)]
    findings, _ = judge(tmp_path / "hole", {"loss": decay(200)}, steps=steps)
    assert findings["steps-missing"].role == "context"
    assert "50 reports" in findings["steps-missing"].title
    assert roots(findings) == []
