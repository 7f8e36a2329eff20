"""Two writers in one place, a tracker without values, and how trackers say that a run ended."""

from __future__ import annotations

import json
from pathlib import Path

from curve_runs import collector, decay, judge, roots
from event_files import numbered, write_events
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from experiment_debugger.diagnose.engine import diagnose_evidence
from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.readers.lines import ScanStats
from experiment_debugger.readers.series import Recorded
from experiment_debugger.rules.rulebook import load_rulebook
from experiment_debugger.run import Artifact

RULE = "tracker-two-writers"
FIRST = decay(120)
NOTHING = {"unrelated": [1.0, 2.0]}


def together(folder: Path, apart: float, keys: tuple[str, str] = ("train/loss", "train/loss")) -> Path:
    """Two event files of one folder, the second begun so many seconds after the first, which needs 120."""
    for number, key in enumerate(keys):
        write_events(folder / "runs" / "run-42", key, numbered(FIRST), begin=1.7e9 + apart * number)
    return folder


def rows(folder: Path, steps: list[int], ranks: int = 0) -> Path:
    """A table that may name the rank of each row."""
    lines = [
        json.dumps({"step": step, "loss": 2.0 - 0.001 * step + 0.1 * (i % 2), **({"rank": i % ranks} if ranks else {})})
        for i, step in enumerate(steps)
    ]
    path = folder / "logs" / "run-42" / "history.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_two_files_with_the_same_metric_at_the_same_time(tmp_path: Path) -> None:
    findings, diagnosis = judge(together(tmp_path, 5.0), NOTHING)
    assert findings[RULE].role == "root"
    assert diagnosis.modes[0].mode == "silent-error"


def test_a_restart_and_two_writers_of_one_process_are_none(tmp_path: Path) -> None:
    assert RULE not in judge(together(tmp_path / "restart", 500.0), NOTHING)[0]
    assert RULE not in judge(together(tmp_path / "parts", 5.0, ("train/loss", "val/loss")), NOTHING)[0]


def test_two_processes_that_append_to_one_table(tmp_path: Path) -> None:
    turns = [step for i in range(60) for step in (3 * i, max(0, 3 * (i - 2)))]
    assert judge(rows(tmp_path / "turns", turns), NOTHING)[0][RULE].role == "root"
    assert RULE not in judge(rows(tmp_path / "again", [*range(60), *range(60)]), NOTHING)[0]
    assert RULE not in judge(rows(tmp_path / "micro", [i // 4 for i in range(120)]), NOTHING)[0]
    assert RULE not in judge(rows(tmp_path / "ranks", turns, ranks=2), NOTHING)[0]


def evidence_of_run(*recorded: tuple[str, str, Recorded], log: str = "", mtime: float = 0.0) -> RunEvidence:
    evidence = collector().text(log)
    for number, (name, kind, numbers) in enumerate(recorded):
        artifact = Artifact(Path(name), name, kind, 1, mtime + number, "test")  # type: ignore[arg-type]
        evidence.numbers.append(FileEvidence(artifact, ScanStats(0, 0, ()), [], {}, recorded=numbers))
    return evidence


def fired(rule: str, evidence: RunEvidence) -> list[str]:
    book = load_rulebook()
    return [finding.role for finding in book.detectors[rule].check(evidence, book) if not finding.recovered]


ENDED = "epoch 1 done\nepoch 2 done\nTraining finished.\n"
SETTINGS = {"steps": 300, "lr": 0.003, "log_every": 1000}


def test_a_run_that_trained_and_recorded_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "run-42"
    EventFileWriter(str(folder)).close()
    log = tmp_path / "logs" / "run-42" / "train.log"
    log.parent.mkdir(parents=True)
    log.write_text(ENDED, encoding="utf-8")
    findings, diagnosis = judge(tmp_path, NOTHING, config="steps: 300\nlr: 0.003\nlog_every: 1000\n")
    assert findings["tracker-empty"].role == "root"
    assert diagnosis.modes[0].cause == "logging-interval-longer-than-run"


def test_an_empty_tracker_of_a_run_that_did_not_train_is_silent() -> None:
    empty = ("runs/run-42", "tensorboard", Recorded(settings=dict(SETTINGS)))
    assert fired("tracker-empty", evidence_of_run(empty, log=ENDED)) == ["root"]
    assert fired("tracker-empty", evidence_of_run(empty, log="epoch 1 done\n")) == []
    assert fired("tracker-empty", evidence_of_run(("runs/run-42", "tensorboard", Recorded()), log=ENDED)) == []
    losses = "".join(f"step {i} loss {value:.4f}\n" for i, value in enumerate(decay(40)))
    assert fired("tracker-empty", evidence_of_run(empty, log=losses + ENDED)) == ["context"]
    system = Recorded(settings=dict(SETTINGS))
    system.of("system.cpu").add(0, 1.0)
    assert fired("tracker-empty", evidence_of_run(("run.wandb", "wandb", system), log=ENDED)) == ["root"]


def test_how_trackers_say_that_a_run_ended() -> None:
    for facts, rule in (
        ({"exit_code": "0"}, "tracker-finished"),
        ({"state": "finished"}, "tracker-finished"),
        ({"exit_code": "1"}, "tracker-failed"),
        ({"state": "FAILED"}, "tracker-failed"),
        ({"state": "no exit code: killed or still running"}, ""),
        ({"exit_code": "many"}, ""),
    ):
        evidence = evidence_of_run(("run.wandb", "wandb", Recorded(facts=facts)))
        assert {name for name in ("tracker-finished", "tracker-failed") if fired(name, evidence)} == {rule} - {""}


def test_a_failed_try_that_a_later_one_made_good_is_recovered() -> None:
    failed, done = Recorded(facts={"exit_code": "1"}), Recorded(facts={"exit_code": "0"})
    assert fired("tracker-failed", evidence_of_run(("a.wandb", "wandb", failed), ("b.wandb", "wandb", done))) == []
    assert fired("tracker-failed", evidence_of_run(("a.wandb", "wandb", done), ("b.wandb", "wandb", failed))) != []


def test_an_exit_code_is_no_root_next_to_a_reason() -> None:
    log = "Traceback (most recent call last):\n  File \"/p/train.py\", line 3, in f\n    x[k]\nKeyError: 'labels'\n"
    failed = ("run.wandb", "wandb", Recorded(facts={"exit_code": "1"}))
    diagnosis = diagnose_evidence(evidence_of_run(failed, log=log), load_rulebook())
    assert diagnosis.run_state == "failed"
    assert "tracker-failed" not in diagnosis.modes[0].rules
    alone = diagnose_evidence(evidence_of_run(failed, log="step 1 loss 2.0\n"), load_rulebook())
    assert (alone.modes[0].mode, alone.modes[0].confidence) == ("crash", "low")


def test_a_trainer_state_at_its_last_step_is_an_end() -> None:
    state = Recorded(planned_steps=120)
    state.of("loss").add(120, 0.4)
    assert fired("tracker-finished", evidence_of_run(("out/trainer_state.json", "metrics", state))) == ["ending"]
    state.planned_steps = 500
    assert fired("tracker-finished", evidence_of_run(("out/trainer_state.json", "metrics", state))) == []


def test_no_root_of_these_on_a_plain_table(tmp_path: Path) -> None:
    assert roots(judge(tmp_path, {"loss": decay(100)})[0]) == []


def test_what_weights_and_biases_has_dropped_stands_at_its_run() -> None:
    lines = [
        f"wandb: WARNING Tried to log to step {i} that is less than the current step {30 * i + 29}. Steps must be "
        "monotonically increasing, so this data will be ignored.\n"
        for i in range(3)
    ]
    run = Recorded(facts={"exit_code": "0"})
    run.of("train/loss").add(0, 2.3)
    evidence, book = evidence_of_run(("run.wandb", "wandb", run), log="".join(lines)), load_rulebook()
    (finding,) = book.detectors["tracker-steps-backwards"].check(evidence, book)
    assert (finding.position.path, finding.position.step, finding.evidence[0].line) == ("run.wandb", 29, 1)
    diagnosis = diagnose_evidence(evidence, book)
    assert (diagnosis.modes[0].mode, diagnosis.modes[0].cause) == ("silent-error", "wandb-step-not-monotonic")
