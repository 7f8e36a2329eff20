"""The diagnosis benchmark: floors over the shared cases, and no rule that only knows a case."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiment_debugger.diagnose import diagnose
from experiment_debugger.project import find_project
from experiment_debugger.rules.rulebook import load_rulebook
from experiment_debugger.run import resolve

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in (HERE / "cases").glob("*/case.yaml"))
TEXT_MODES = {"crash", "nan-gradient", "oom", "none"}


def truth(case: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((case / "case.yaml").read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """One row a case, from the benchmark's own scorer running the real command."""
    out = tmp_path_factory.mktemp("score") / "rows.json"
    command = f"{sys.executable} -m experiment_debugger.cli"
    argv = [sys.executable, str(HERE / "score.py"), str(HERE / "cases"), "--command", command, "--json", str(out)]
    subprocess.run(argv, check=False, capture_output=True, timeout=900, env=os.environ | {"PYTHONUTF8": "1"})
    rows: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))
    return rows


def test_modes_evidence_and_alarms_of_the_text_modes(scores: list[dict[str, Any]]) -> None:
    rows = [row for row in scores if row["mode"] in TEXT_MODES]
    evidence = [row["evidence_ok"] for row in rows if row["evidence_ok"] is not None]
    assert len(rows) == 49
    assert sum(row["mode_ok"] for row in rows) >= 0.96 * len(rows)
    assert sum(evidence) >= 0.92 * len(evidence)


def test_no_case_gets_a_false_alarm_a_confident_error_or_a_dishonest_quote(scores: list[dict[str, Any]]) -> None:
    assert [row["case"] for row in scores if row.get("alarm")] == []
    assert [row["case"] for row in scores if row.get("confidence") == "high" and not row["lenient_ok"]] == []
    assert [row["case"] for row in scores if not row["honest"]] == []


def test_every_answer_fits_the_budget(scores: list[dict[str, Any]]) -> None:
    assert max(row["tokens"] for row in scores) <= 1500


def test_where_text_does_not_reach_the_answer_abstains(scores: list[dict[str, Any]]) -> None:
    """The other modes need curves, code or a second run: wrong there is worse than inconclusive."""
    rows = [row for row in scores if row["mode"] not in TEXT_MODES and not row["lenient_ok"]]
    assert {row["got"] for row in rows} <= {"inconclusive", "healthy"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_rule_that_fired_rests_on_the_source_of_its_case(case: Path) -> None:
    known, book = truth(case), load_rulebook()
    project = find_project(case / "project", case, {})
    diagnosis = diagnose(resolve(project, str(known["run_id"])))
    for rule in diagnosis.checked.fired:
        info = book.info(rule)
        assert info is not None
        assert set(info.references) - {known["source"]}, rule
    assert not diagnosis.checked.error
