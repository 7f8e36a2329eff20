"""Runs whose evidence is numbers (see artifacts/numbers/README.md), diagnosed on the command line as a user does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from samples import Cli

PROJECTS = Path(__file__).parent / "artifacts" / "numbers" / "projects"
EXPECTED: dict[str, dict[str, Any]] = json.loads((PROJECTS / "expected.json").read_text(encoding="utf-8"))
FAILING = [name for name, about in EXPECTED.items() if about["verdict"] == "failure"]
HEALTHY = [name for name, about in EXPECTED.items() if about["verdict"] == "healthy"]
NEAR = 2  # steps
NEAR_SHARE = 0.02  # of the planned steps
HEALTHY_SHARE = 0.85


def diagnose(cli: Cli, name: str) -> dict[str, Any]:
    done = cli("classify-failure", EXPECTED[name]["run_id"], "--project", str(PROJECTS / name), "--json")
    assert done.code == 0, done.err
    answer: dict[str, Any] = done.data
    return answer


@pytest.mark.parametrize("name", FAILING)
def test_a_failure_is_seen_in_the_numbers(cli: Cli, name: str) -> None:
    wanted, found = EXPECTED[name], diagnose(cli, name)
    fired = set(found["checked"]["fired"])
    assert found["verdict"] == "failure", found["summary"]
    assert found["modes"][0]["mode"] == wanted["mode"], found["summary"]
    assert fired >= set(wanted["rules"]), fired
    assert not wanted["one_of"] or fired & set(wanted["one_of"]), fired
    if wanted["step"] is not None:
        within = max(NEAR, NEAR_SHARE * (wanted["steps"] or 0))
        step = found["modes"][0]["onset"].get("step")
        assert step is not None, found["summary"]
        assert abs(step - wanted["step"]) <= within, (step, wanted["step"])


def test_a_healthy_run_is_no_failure_and_few_are_left_open(cli: Cli) -> None:
    found = {name: diagnose(cli, name) for name in HEALTHY}
    alarms = {name: answer["summary"] for name, answer in found.items() if answer["verdict"] == "failure"}
    assert not alarms, "\n".join(f"{name}: {summary}" for name, summary in alarms.items())
    for name, answer in found.items():
        assert set(EXPECTED[name].get("rules", ())) <= set(answer["checked"]["fired"]), name
    left_open = sorted(name for name, answer in found.items() if answer["verdict"] != "healthy")
    assert len(found) >= 24
    assert len(left_open) <= (1 - HEALTHY_SHARE) * len(found), left_open


def test_every_failure_stands_in_two_sources() -> None:
    sources: dict[str, set[str]] = {}
    for name in FAILING:
        for rule in (*EXPECTED[name]["rules"], *EXPECTED[name]["one_of"]):
            sources.setdefault(rule, set()).add(EXPECTED[name]["source"])
    assert not {rule for rule, found in sources.items() if len(found) < 2}
    assert {EXPECTED[name]["source"] for name in FAILING} >= {"text", "tensorboard", "wandb", "csv", "hf"}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_project_is_small_and_complete(name: str) -> None:
    files = [path for path in (PROJECTS / name).rglob("*") if path.is_file()]
    assert any(path.name == "train.py" for path in files)
    assert any(path.parent.name == "configs" for path in files)
    assert sum(path.stat().st_size for path in files) < 300_000
