"""What a project says in .experiment-debugger/config.yaml, seen in the answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from samples import Cli, write

SIGNATURE = """\
- id: own-reactor-lost
  title: 'The simulator lost its reactor'
  mode: crash
  symptom_class: code-error
  role: root
  level: fatal
  match:
    literals: ['REACTOR LOST']
  why: 'Our simulator prints it once, before it exits.'
  confirm: ['restart the simulator alone']
  references: ['https://example.org/reactor']
  verified: run
  examples:
    fires: ['12:00:01 REACTOR LOST core 3']
    silent: ['reactor found']
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    lines = [f"it={step}/900 obj={3.0 / step:.3f}\n" for step in range(1, 60)]
    write(tmp_path / "logs" / "run-4.log", "".join(lines) + "12:00:01 REACTOR LOST core 3\n")
    write(tmp_path / "logs" / "run-42.log", "".join(lines) + "12:00:01 REACTOR LOST core 3\n")
    write(tmp_path / "rules" / "own.yaml", SIGNATURE)
    return tmp_path


def settings(project: Path, text: str) -> None:
    write(project / ".experiment-debugger" / "config.yaml", "signatures: rules\n" + text)


def diagnosis(cli: Cli, project: Path, run: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(cli("classify-failure", run, "--json", "--project", str(project)).out)
    return data


def test_own_signatures_are_used_for_runs_and_pasted_text_and_explained(cli: Cli, project: Path) -> None:
    settings(project, "")
    assert diagnosis(cli, project, "42")["modes"][0]["rules"][0] == "own-reactor-lost"
    pasted = cli("debug", "-", cwd=project, stdin="12:00:01 REACTOR LOST core 3\n")
    assert "own-reactor-lost" in pasted.out
    assert "The simulator lost its reactor" in cli("explain", "own-reactor-lost", cwd=project).out


def test_a_suppression_counts_only_below_its_path(cli: Cli, project: Path) -> None:
    settings(project, "suppressions:\n- {rule: own-reactor-lost, reason: a drill, path: logs/run-4.log}\n")
    quiet, loud = diagnosis(cli, project, "4"), diagnosis(cli, project, "42")
    assert quiet["verdict"] != "failure"
    assert quiet["checked"]["suppressed"] == 1
    assert "own-reactor-lost" not in quiet["checked"].get("fired", [])
    assert loud["modes"][0]["rules"][0] == "own-reactor-lost"


def test_a_log_pattern_with_alternatives_sees_all_its_lines(cli: Cli, project: Path) -> None:
    settings(project, r"log_pattern: '(?:it|iteration)=(?P<step>\d+)/(?P<total>\d+) obj=(?P<obj>\S+)'" + "\n")
    onset = diagnosis(cli, project, "42")["modes"][0]["onset"]
    assert onset["step"] == 59
