"""What the context of a run says of itself, and risks of the board that a diagnosis repeats."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import TRACEBACK, Cli, steps, write

from experiment_debugger.context import MOST_ARTIFACTS, gather
from experiment_debugger.diagnose import investigate
from experiment_debugger.diagnose.findings import risk_fingerprint
from experiment_debugger.models import Diagnosis, RunContext
from experiment_debugger.project import find_project
from experiment_debugger.run import resolve

BOARD = """\
# Risk board

| ID | Kind | Status | Summary |
|---|---|---|---|
| RSK-001 | execution | open | another one <!-- ed:fp=0123456789abcdef --> |
| RSK-002 | execution | open | written by hand |
| RSK-007 | execution | closed | memory ran out <!-- ed:fp={fingerprint} --> |
"""


def examine(project: Path, run_id: str = "42") -> tuple[Diagnosis, RunContext]:
    evidence, diagnosis = investigate(resolve(find_project(project, project, {}), run_id))
    return diagnosis, gather(evidence, diagnosis)


def fingerprint_of_the_root(project: Path) -> str:
    from experiment_debugger.diagnose.findings import all_outcomes
    from experiment_debugger.rules.rulebook import load_rulebook

    evidence, diagnosis = investigate(resolve(find_project(project, project, {}), "42"))
    top = diagnosis.modes[0]
    outcomes = all_outcomes(evidence, load_rulebook())
    root = next(finding for outcome in outcomes for finding in outcome.findings if finding.rule == top.rules[0])
    return risk_fingerprint(top.cause, root)


def test_a_failure_that_the_risk_board_knows_was_seen_before(project: Path) -> None:
    assert examine(project)[0].seen_before == ()
    write(project / "memory" / "risk-board.md", BOARD.format(fingerprint=fingerprint_of_the_root(project)))
    assert examine(project)[0].seen_before == ("RSK-007",)
    assert examine(project, "7")[0].seen_before == ()


def test_the_same_failure_of_another_run_has_the_same_fingerprint(project: Path) -> None:
    write(project / "memory" / "risk-board.md", BOARD.format(fingerprint=fingerprint_of_the_root(project)))
    text = TRACEBACK.replace("2.50 GiB", "4.00 GiB").replace("model.py", "net.py")
    write(project / "logs" / "run-43.log", "".join(steps(range(90))) + text)
    assert examine(project, "43")[0].seen_before == ("RSK-007",)


def test_the_answer_names_the_risk(project: Path, cli: Cli) -> None:
    write(project / "memory" / "risk-board.md", BOARD.format(fingerprint=fingerprint_of_the_root(project)))
    assert "Seen before: RSK-007" in cli("debug", "42", "--project", str(project)).out


def test_files_beyond_the_cap_of_the_context_are_counted(tmp_path: Path, cli: Cli) -> None:
    count = MOST_ARTIFACTS + 25
    for rank in range(count):
        write(tmp_path / "logs" / "run-42" / f"rank_{rank}.log", "".join(steps(range(3))))
    _, context = examine(tmp_path)
    assert len(context.artifacts) + context.omitted["artifacts"] == count
    data = cli("gather-run-context", "42", "--json", "--project", str(tmp_path)).data
    assert len(data["artifacts"]) + data["omitted"]["artifacts"] == count


def test_the_commit_of_the_run_stands_where_it_is_said_to_stand(project: Path) -> None:
    write(project / "runs" / "run-42" / "env.txt", "torch==2.1.0\nnumpy==1.26.0\ncommit: 3f2a9c1d\n")
    _, context = examine(project)
    assert context.commit_of_run is not None
    assert str(context.commit_of_run.value) == "3f2a9c1d"
    assert context.commit_of_run.at == "runs/run-42/env.txt:3"


def test_a_project_s_own_signature_fires_on_every_surface(project: Path, cli: Cli) -> None:
    write(project / ".experiment-debugger" / "config.yaml", "signatures: debug\n")
    write(
        project / "debug" / "own.yaml",
        """\
- id: own-licence-lost
  title: The licence server of the simulator went away
  mode: crash
  symptom_class: code-error
  role: root
  level: fatal
  match: {literals: ['LICENCE LOST']}
  why: The simulator ends with its licence.
  confirm: ['Ask the licence server for its log.']
  references: ['https://example.org/licences']
  verified: run
  examples: {fires: ['LICENCE LOST: bye'], silent: ['licence checked']}
""",
    )
    write(project / "logs" / "run-50.log", "".join(steps(range(90))) + "sim: LICENCE LOST, giving up\n")
    for verb in ("debug", "classify-failure"):
        assert "own-licence-lost" in cli(verb, "50", "--project", str(project)).out


def test_a_registry_of_runs_without_files_does_not_end_the_search(project: Path, cli: Cli) -> None:
    write(project / "docs" / "ops" / "runs.yaml", "runs: {77: {log: gone/x.log}}\n")
    assert "run-42" in cli("debug", "--project", str(project)).out
    for log in (project / "logs").iterdir():
        log.unlink()
    done = cli("debug", "--project", str(project))
    assert done.code == 2
    assert "77" in done.err


@pytest.mark.parametrize("count", [40, 400])
def test_missing_things_do_not_push_everything_else_out(tmp_path: Path, cli: Cli, count: int) -> None:
    write(tmp_path / "logs" / "run-42.log", "".join(steps(range(30))) + TRACEBACK)
    write(tmp_path / "configs" / "base.yaml", "batch_size: 64\nlr: 3.0e-4\n")
    for number in range(count):
        (tmp_path / "logs" / f"link-{number}").symlink_to("nowhere")
    data = cli("gather-run-context", "42", "--json", "--project", str(tmp_path)).data
    assert data["config"]["lr"]["value"] == 0.0003
    assert data.get("omitted", {}).get("missing", 0) + len(data["missing"]) > count
