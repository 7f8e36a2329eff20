"""A whole case through an MCP client: from a hand-off of run-status-monitor to one for run-experiment."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent
from samples import write
from smoke_runs import JOB, commit, git, run_once

from experiment_debugger.mcp_server import build_server

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("error::mcp.MCPDeprecationWarning")]
ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
TRAIN = """\
import argparse
import json
import pathlib

import yaml

parser = argparse.ArgumentParser()
parser.add_argument("--config", default="configs/42.yaml")
parser.add_argument("--period", type=int, default=1000)
options = parser.parse_args()
config = yaml.safe_load(pathlib.Path(options.config).read_text())
samples = json.loads(pathlib.Path("data/samples.json").read_text())
weight = config["model"]["start"]
for step in range(1, config["steps"] + 1):
    x, y = samples[(step - 1) % options.period]
    loss = (weight * x - y) ** 2
    weight -= config["optimizer"]["lr"] * (weight * x - y) * x
    print(f"step {step}/{config['steps']} loss {loss:.4f}", flush=True)
print("Training finished", flush=True)
"""
FIXED = TRAIN.replace("(step - 1) % options.period", "(step - 1) % len(samples)")
CONFIG = "model: {start: 0.5}\noptimizer: {lr: 0.1}\nsteps: 40\n"
STATUS = """\
# Run 42

- State: failed
- Progress: step 30 / 40
- Last update: 2026-11-30T11:40:00Z
- Risk: log logs/run-42.log ends with a traceback
"""
BOARD = """\
# Hand-off board

| ID | Status | Producer | Consumer | From | To | Payload | Source paths | Expected outputs | Acceptance check \
| Staleness trigger | Certainty | Updated |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
| HND-011 | consumed | run-experiment | run-status-monitor | execution | monitoring | run 42 | jobs/42.yaml | status | \
alive | rerun | observed | 2026-11-29 |
| HND-012 | ready | run-status-monitor | experiment-debugger | monitoring | debugging | run 42 failed | \
docs/ops/runs/42-status.md | a diagnosis | the cause is named | a rerun of 42 | observed | 2026-11-30 |
"""


class Assistant:
    """Calls tools as an assistant does, for a user who agrees to what is started."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def structured(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, text_of(result)
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    async def text(self, tool: str, **arguments: Any) -> str:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, text_of(result)
        return text_of(result)

    async def refused(self, tool: str, **arguments: Any) -> str:
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error
        return text_of(result)


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def agree(context: Any, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG001 (the SDK's)
    return ElicitResult(action="accept", content={"run": True})


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run 42 has really failed at step 31, and run-status-monitor has handed it over."""
    made = tmp_path / "project"
    made.mkdir()
    git(made, "init", "--quiet", "--initial-branch=main")
    write(made / ".gitignore", "data/\noutputs/\nlogs/\n.experiment-debugger/\n")
    write(made / "train.py", TRAIN)
    write(made / "configs" / "42.yaml", CONFIG)
    write(made / "data" / "samples.json", str([[1 + i % 7 / 10, 2 + i % 7 / 5] for i in range(30)]))
    broken = commit(made, "train")
    run_once(made, "--config", "configs/42.yaml")
    write(
        made / "jobs" / "42.yaml",
        JOB.format(python=f"{sys.executable}", commit=broken).replace("train.py", "train.py --config configs/42.yaml"),
    )
    write(made / "docs" / "ops" / "runs" / "42-status.md", STATUS)
    write(made / "memory" / "handoff-board.md", BOARD)
    commit(made, "job and boards")
    monkeypatch.setenv("EXPERIMENT_DEBUGGER_PROJECT", str(made))
    monkeypatch.delenv("EXPERIMENT_DEBUGGER_ALLOW_RUN", raising=False)
    return made


def checks(answer: dict[str, Any]) -> dict[str, str]:
    return {one["check"]: one["result"] for one in answer["sanity_check"]}


@ERAS
async def test_from_a_handed_over_failure_to_a_ready_rerun(root: Path, era: str) -> None:
    async with Client(build_server(), mode=era, elicitation_callback=agree) as client:
        it = Assistant(client)
        first = await it.text("debug", run_id="HND-012")
        assert first.startswith("# Run 42: crash")
        assert (await it.structured("gather_run_context", run_id=42))["run"]["id"] == "42"
        diagnosis = await it.structured("classify_failure", run_id=42)
        assert diagnosis["modes"][0]["onset"]["step"] in {30, 31}
        reproduced = await it.structured("run_smoke_test", run_id=42)
        assert reproduced["proves"] == "the failure", reproduced["summary"]
        write(root / "train.py", FIXED)
        fix = commit(root, "Start anew after the last sample")
        passed = await it.structured("run_smoke_test", run_id=42, at="HEAD")
        assert passed["proves"] == "the fix", passed["summary"]

        report = await it.structured(
            "write_debug_report",
            run_id=42,
            root_cause="There are 30 samples, and step 31 asks for the 31st.",
            why_unchanged="The samples, the model and the objective are the same; only the index wraps.",
            hypothesis=["a damaged data file | its 30 samples read one by one | refuted: all are whole"],
        )
        assert checks(report) == {
            "smoke-test": "pass",
            "fix-committed": "pass",
            "experiment-unchanged": "pass",
            "risk-recorded": "fail",
        }
        assert report["status"] == "not-fixed"
        risk = await it.structured("append_risk_board", run_id=42, mitigation=f"fixed in {fix[:7]}")
        assert (risk["id"], risk["action"]) == ("RSK-001", "added")
        handed = await it.structured("hand_off", run_id=42, to="run-experiment")
        assert (handed["id"], handed["status"], "missing" in handed and handed["missing"]) == ("HND-013", "ready", [])
        assert "RSK-001" in await it.text("debug", run_id=42)

    text = (root / "docs/ops/runs/42-debug.md").read_text(encoding="utf-8")
    assert "- Status: fixed\n" in text
    assert "HND-013" in text
    payload = yaml.safe_load((root / "docs/ops/handoffs/42-to-run-experiment.yaml").read_text(encoding="utf-8"))
    assert payload["commit"] == fix
    assert payload["command"] == f"{sys.executable} train.py --config configs/42.yaml"
    assert payload["debug_report"] == "docs/ops/runs/42-debug.md"
    board = (root / "memory/handoff-board.md").read_text(encoding="utf-8")
    assert board.startswith(
        BOARD.replace("| HND-012 | ready |", "| HND-012 | consumed |").rpartition("| 2026-11-30")[0]
    )


async def test_a_fix_on_the_command_line_only_is_refused(root: Path) -> None:
    async with Client(build_server(), elicitation_callback=agree) as client:
        it = Assistant(client)
        assert (await it.structured("run_smoke_test", run_id=42))["verdict"] == "reproduced"
        argv = ["python", "train.py", "--config", "configs/42.yaml", "--period", "30"]
        passed = await it.structured("run_smoke_test", run_id=42, argv=argv)
        assert (passed["verdict"], passed["proves"]) == ("passed", "nothing")
        await it.structured("append_risk_board", run_id=42)
        told = {"root_cause": "the index runs over", "why_unchanged": "same data"}
        for arguments in ({}, {"fix_commit": passed["commit"]}):
            report = await it.structured("write_debug_report", run_id=42, **told, **arguments)
            assert report["status"] == "not-fixed"
            assert checks(report)["fix-committed"] == "fail", report
            assert "--period 30" in str(report["sanity_check"])
        handed = await it.structured("hand_off", run_id=42, to="run-experiment")
        assert handed["status"] == "proposed"
        assert any(item.startswith("fix-committed (fail)") for item in handed["missing"])
        assert "| HND-013 | proposed |" in (root / "memory/handoff-board.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "result", "words"),
    [
        (("start: 0.5", "start: 0.9"), "fail", "model.start 0.5 -> 0.9"),
        (("lr: 0.1", "lr: 0.05"), "fail", "optimizer.lr 0.1 -> 0.05"),
        (("steps: 40", "steps: 40\nlog_every: 5"), "pass", "no experiment-defining setting changed"),
        (("steps: 40", "steps: 40\nfrobnicate: 5"), "unknown", "frobnicate not set -> 5"),
    ],
)
async def test_a_fix_that_changes_the_experiment_is_no_fix(
    root: Path, change: tuple[str, str], result: str, words: str
) -> None:
    async with Client(build_server(), elicitation_callback=agree) as client:
        it = Assistant(client)
        await it.structured("run_smoke_test", run_id=42)
        write(root / "train.py", FIXED)
        write(root / "configs" / "42.yaml", CONFIG.replace(*change))
        commit(root, "Fix, and something else")
        await it.structured("run_smoke_test", run_id=42, at="HEAD")
        await it.structured("append_risk_board", run_id=42)
        told = {"root_cause": "The index runs over.", "why_unchanged": "Only the index wraps."}
        report = await it.structured("write_debug_report", run_id=42, **told)
        check = next(one for one in report["sanity_check"] if one["check"] == "experiment-unchanged")
        assert check["result"] == result, check
        assert words in str(check["evidence"])
        assert report["status"] == ("fixed" if result == "pass" else "not-fixed")
        if result == "unknown":
            reason = ["experiment-unchanged=frobnicate is read by nobody"]
            report = await it.structured("write_debug_report", run_id=42, reason=reason)
            assert report["status"] == "fixed, not fully verified"
            assert (await it.structured("hand_off", run_id=42))["status"] == "ready"


async def test_two_servers_write_into_one_project(root: Path) -> None:
    def server() -> StdioServerParameters:
        env = {**os.environ, "EXPERIMENT_DEBUGGER_PROJECT": str(root)}
        return StdioServerParameters(command=sys.executable, args=["-m", "experiment_debugger.mcp_server"], env=env)

    async def append(name: str) -> None:
        async with Client(server()) as client:
            it = Assistant(client)
            for number in range(10):
                await it.structured("append_risk_board", summary=f"risk {number} of {name}")
                await it.structured("write_debug_report", run_id=42, note=f"{name} {number}")

    async with anyio.create_task_group() as group:
        group.start_soon(append, "ann")
        group.start_soon(append, "bob")
    board = (root / "memory/risk-board.md").read_text(encoding="utf-8")
    assert [f"| RSK-{number:03d} |" in board for number in range(1, 22)] == [True] * 20 + [False]
    report = (root / "docs/ops/runs/42-debug.md").read_text(encoding="utf-8")
    assert all(f"- {name} {number}\n" in report for name in ("ann", "bob") for number in range(10))
