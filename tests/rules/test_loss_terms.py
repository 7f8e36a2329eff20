"""Which term of a loss was the one that is not finite."""

from __future__ import annotations

import math
from pathlib import Path

from curve_runs import NAN, judge, level

CALM = level(80, 1.0)
GROWING = [*level(56, 0.2), *(0.2 * 10.0 ** (7 * i) for i in range(1, 5)), *[math.inf] * 20]
SUDDEN = [*level(60, 0.2), *[math.inf] * 20]


def total(term: list[float]) -> list[float]:
    return [a + b if math.isfinite(b) else NAN for a, b in zip(CALM, term, strict=True)]


def test_a_term_that_overflows_alone_is_an_exponential_and_no_learning_rate(tmp_path: Path) -> None:
    columns = {"loss": total(GROWING), "loss_rec": CALM, "loss_kl": GROWING}
    findings, diagnosis = judge(tmp_path, columns, every=1)
    assert findings["loss-term-overflows-alone"].title == f"loss_kl turned inf while loss_rec was {CALM[60]:.4g}"
    assert findings["loss-term-overflows-alone"].position.step == 60
    assert diagnosis.modes[0].cause == "log-variance-unbounded-exp-overflow"


def test_a_term_that_is_infinite_at_once_is_a_logarithm(tmp_path: Path) -> None:
    columns = {"loss": total(SUDDEN), "loss_rec": CALM, "loss_kl": SUDDEN}
    findings, _ = judge(tmp_path, columns, every=1)
    assert "loss-term-overflows-alone" not in findings
    assert findings["loss-term-nonfinite-alone"].position.step == 60


def test_terms_that_go_together_name_none(tmp_path: Path) -> None:
    columns = {"loss": total(GROWING), "loss_rec": GROWING, "loss_kl": GROWING}
    findings, _ = judge(tmp_path, columns, every=1)
    assert not {"loss-term-overflows-alone", "loss-term-nonfinite-alone"} & set(findings)


def test_a_term_that_grew_as_well_is_not_calm(tmp_path: Path) -> None:
    columns = {"loss": total(GROWING), "loss_rec": [*CALM[:56], *[90.0] * 24], "loss_kl": GROWING}
    findings, _ = judge(tmp_path, columns, every=1)
    assert "loss-term-overflows-alone" not in findings


def test_one_loss_alone_has_no_terms(tmp_path: Path) -> None:
    findings, diagnosis = judge(tmp_path, {"loss": SUDDEN}, every=1)
    assert "loss-term-nonfinite-alone" not in findings
    assert diagnosis.modes[0].cause == "single-batch-or-operation-not-finite"
    assert diagnosis.modes[0].confidence == "medium"
