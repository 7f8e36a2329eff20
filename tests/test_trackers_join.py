"""Trackers whose path does not carry the run's id: which run they belong to, and what is said where that is open.

The names of folders and files are those that torch's SummaryWriter, W&B, Lightning and MLflow give.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from experiment_debugger.errors import RunNotFound
from experiment_debugger.project import find_project
from experiment_debugger.run import Run, list_runs, resolve

LOG = "epoch 1 step 10 loss 0.5\n"
CSV = "step,loss\n1,0.5\n2,0.4\n"
NOON = 1_780_000_000.0
"""Seconds since the epoch; the runs here happen around it."""
EVENTS = f"events.out.tfevents.{int(NOON)}.vm.7737.0"
WANDB = f"wandb/offline-run-{time.strftime('%Y%m%d_%H%M%S', time.localtime(NOON))}-s8031ol4"
WANDB_FILES = (
    "run-s8031ol4.wandb", "files/output.log", "files/requirements.txt", "logs/debug.log", "logs/debug-internal.log",
)  # fmt: skip


def put(root: Path, name: str, text: str = LOG, *, at: float = NOON) -> None:
    """A file that was last changed at that time."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at, at))


def put_wandb(root: Path, folder: str = WANDB, *, at: float = NOON) -> None:
    for name in WANDB_FILES:
        put(root, f"{folder}/{name}", at=at)


def find(root: Path, run: str | int | None) -> Run:
    return resolve(find_project(root, root, {"HOME": str(root / "no-home")}), run)


def names(run: Run) -> set[str]:
    return {artifact.name for artifact in run.artifacts}


def reasons(run: Run) -> dict[str, str]:
    return {artifact.name: artifact.why for artifact in run.artifacts}


def listed(root: Path) -> set[str]:
    return {run.id for run in list_runs(find_project(root, root, {"HOME": str(root / "no-home")}))}


def stamped(start: float) -> str:
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(start))},000 INFO start\n{LOG}"


def two_runs(root: Path) -> None:
    """Run 7 from 100 s before noon to 50 s after it, run 8 an hour later."""
    put(root, "logs/run-7.log", stamped(NOON - 100), at=NOON + 50)
    put(root, "logs/run-8.log", stamped(NOON + 3600), at=NOON + 3750)


class TestOneLog:
    @pytest.mark.parametrize(
        "tracker",
        [
            f"tb/{EVENTS}",
            f"runs/{EVENTS}",
            f"runs/gan/{EVENTS}",
            f"out/runs/May28_20-26-40_vm/{EVENTS}",
            "lightning_logs/version_0/metrics.csv",
            "mlruns/167545322798281800/9a0bac0048d84702bbf17cf01d040b72/metrics/loss",
            "metrics.csv",
        ],
    )
    def test_the_tracker_beside_it_is_its(self, tmp_path: Path, tracker: str) -> None:
        put(tmp_path, "logs/run-201.log")
        put(tmp_path, tracker, CSV)
        run = find(tmp_path, 201)
        assert {"logs/run-201.log", tracker} <= names(run)
        assert listed(tmp_path) == {"run-201"}
        assert run.siblings == ()
        assert find(tmp_path, None).id == "run-201"

    def test_folds_are_all_its(self, tmp_path: Path) -> None:
        put(tmp_path, "logs/run-201.log")
        folds = {f"runs/fold{number}/{EVENTS}" for number in range(5)}
        for fold in folds:
            put(tmp_path, fold)
        assert folds <= names(find(tmp_path, 201))
        assert len(find(tmp_path, 201).attempts) == 1

    def test_two_event_files_of_one_folder_are_no_runs(self, tmp_path: Path) -> None:
        for pid in (8951, 8952):
            put(tmp_path, f"tb/events.out.tfevents.{int(NOON)}.vm.{pid}.0")
        assert listed(tmp_path) == {"tb"}
        put(tmp_path, "logs/run-201.log")
        assert listed(tmp_path) == {"run-201"}

    def test_a_wandb_folder_is_read_once_and_under_its_own_name(self, tmp_path: Path) -> None:
        put(tmp_path, "logs/run-201.log")
        put_wandb(tmp_path)
        (tmp_path / "wandb/latest-run").symlink_to(Path(WANDB).name)
        (tmp_path / "wandb/debug.log").symlink_to(f"{Path(WANDB).name}/logs/debug.log")
        run = find(tmp_path, 201)
        assert {f"{WANDB}/{name}" for name in WANDB_FILES} <= names(run)
        assert not any("latest-run" in name for name in names(run))
        assert listed(tmp_path) == {"run-201"}

    @pytest.mark.parametrize("typed", ["s8031ol4", "version_0", "gan"])
    def test_the_id_of_the_tracker_finds_the_run(self, tmp_path: Path, typed: str) -> None:
        put(tmp_path, "logs/run-201.log")
        put_wandb(tmp_path)
        put(tmp_path, "lightning_logs/version_0/metrics.csv", CSV)
        put(tmp_path, f"runs/gan/{EVENTS}")
        assert "logs/run-201.log" in names(find(tmp_path, typed))

    def test_the_display_name_of_the_tracker_finds_the_run(self, tmp_path: Path) -> None:
        put(tmp_path, "logs/run-201.log")
        folder = "mlruns/167545322798281800/9a0bac0048d84702bbf17cf01d040b72"
        put(tmp_path, f"{folder}/metrics/loss", "1796066057123 0.5 1\n")
        put(tmp_path, f"{folder}/meta.yaml", "run_name: gentle-crab-17\n")
        assert "logs/run-201.log" in names(find(tmp_path, "gentle-crab-17"))

    @pytest.mark.parametrize(
        "other",
        [
            "runs/41/metrics.csv",  # another number of the same kind
            "lightning_logs/run-421/metrics.csv",
        ],
    )
    def test_another_runs_numbers_stay_apart(self, tmp_path: Path, other: str) -> None:
        put(tmp_path, "logs/run-42.log")
        put(tmp_path, other, CSV)
        assert other not in names(find(tmp_path, 42))
        assert other in names(find(tmp_path, other.split("/")[1]))

    def test_a_sibling_folder_is_another_run(self, tmp_path: Path) -> None:
        put(tmp_path, "runs/mine/train.log")
        put(tmp_path, "runs/baseline/metrics.csv", CSV)
        assert "runs/baseline/metrics.csv" not in names(find(tmp_path, "mine"))
        assert listed(tmp_path) == {"mine", "baseline"}

    def test_of_several_wandb_runs_only_the_one_of_its_time_is_its(self, tmp_path: Path) -> None:
        put(tmp_path, "logs/run-201.log", stamped(NOON - 100), at=NOON + 50)
        old = "wandb/offline-run-20250101_101010-aaaa1111"
        put_wandb(tmp_path)
        put(tmp_path, f"{old}/run-aaaa1111.wandb", at=NOON - 9e6)
        run = find(tmp_path, 201)
        assert f"{WANDB}/run-s8031ol4.wandb" in names(run)
        assert f"{old}/run-aaaa1111.wandb" not in names(run)

    def test_a_tracker_alone_is_a_run(self, tmp_path: Path) -> None:
        put_wandb(tmp_path)
        put(tmp_path, "lightning_logs/version_3/metrics.csv", CSV)
        assert len(listed(tmp_path)) == 2
        assert "lightning_logs/version_3/metrics.csv" in names(find(tmp_path, "version_3"))


class TestSeveralLogs:
    @pytest.mark.parametrize(
        ("tracker", "line"),
        [
            ("lightning_logs/version_3/metrics.csv", "Saving to /home/me/project/lightning_logs/version_3\n"),
            (f"tb/{EVENTS}", "python train.py --logdir tb --epochs 3\n"),
            (f"out/runs/May28_20-26-40_vm/{EVENTS}", "TrainingArguments(output_dir='./out', logging_steps=5)\n"),
            (
                "wandb/offline-run-20250101_101010-s8031ol4/run-s8031ol4.wandb",
                "wandb: Run data is saved locally in /home/me/wandb/offline-run-20250101_101010-s8031ol4\n",
            ),
        ],
    )
    def test_named_by_a_log(self, tmp_path: Path, tracker: str, line: str) -> None:
        put(tmp_path, "logs/run-7.log", line + LOG)
        put(tmp_path, "logs/run-8.log")
        put(tmp_path, tracker, CSV)
        assert "named by the run" in reasons(find(tmp_path, 7))[tracker]
        assert tracker not in names(find(tmp_path, 8))
        assert listed(tmp_path) == {"run-7", "run-8"}

    def test_named_by_a_config(self, tmp_path: Path) -> None:
        for number in (7, 8):
            put(tmp_path, f"logs/run-{number}.log")
            put(tmp_path, f"configs/run-{number}.yaml", f"lr: 0.1\nlog_dir: tb_{'ab'[number - 7]}\n")
            put(tmp_path, f"tb_{'ab'[number - 7]}/{EVENTS}")
        assert f"tb_a/{EVENTS}" in names(find(tmp_path, 7))
        assert f"tb_b/{EVENTS}" not in names(find(tmp_path, 7))
        assert f"tb_b/{EVENTS}" in names(find(tmp_path, 8))

    @pytest.mark.parametrize(
        "line",
        [
            "Resuming from lightning_logs/version_3/checkpoints/last.ckpt\n",
            "Saving to lightning_logs/version_31\n",
            "Saving to lightning_logs/version_3-b\n",
        ],
    )
    def test_named_as_something_else(self, tmp_path: Path, line: str) -> None:
        put(tmp_path, "logs/run-7.log", line + LOG)
        put(tmp_path, "logs/run-8.log")
        put(tmp_path, "lightning_logs/version_3/metrics.csv", CSV)
        assert "lightning_logs/version_3/metrics.csv" not in names(find(tmp_path, 7))

    def test_started_in_the_life_of_one_log(self, tmp_path: Path) -> None:
        two_runs(tmp_path)
        put(tmp_path, f"tb/{EVENTS}")
        put_wandb(tmp_path)
        found = reasons(find(tmp_path, 7))
        assert "started while this run" in found[f"tb/{EVENTS}"]
        assert "started while this run" in found[f"{WANDB}/run-s8031ol4.wandb"]
        assert f"tb/{EVENTS}" not in names(find(tmp_path, 8))
        assert listed(tmp_path) == {"run-7", "run-8"}

    def test_event_files_of_two_runs_in_one_folder(self, tmp_path: Path) -> None:
        two_runs(tmp_path)
        later = f"tb/events.out.tfevents.{int(NOON) + 3610}.vm.7801.0"
        put(tmp_path, f"tb/{EVENTS}")
        put(tmp_path, later, at=NOON + 3750)
        assert names(find(tmp_path, 7)) & {f"tb/{EVENTS}", later} == {f"tb/{EVENTS}"}
        assert names(find(tmp_path, 8)) & {f"tb/{EVENTS}", later} == {later}

    def test_the_process_that_a_log_names(self, tmp_path: Path) -> None:
        put(tmp_path, "logs/run-7.log", f"pid 7737\n{LOG}")
        put(tmp_path, "logs/run-8.log", f"pid 7738\n{LOG}")
        put(tmp_path, f"tb/{EVENTS}")
        assert "process 7737" in reasons(find(tmp_path, 7))[f"tb/{EVENTS}"]
        assert f"tb/{EVENTS}" not in names(find(tmp_path, 8))

    def test_written_together_with_one_log(self, tmp_path: Path) -> None:
        put(tmp_path, "logs/run-7.log", at=NOON)
        put(tmp_path, "logs/run-8.log", at=NOON + 3600)
        put(tmp_path, "lightning_logs/version_0/metrics.csv", CSV, at=NOON + 3590)
        assert "last written together" in reasons(find(tmp_path, 8))["lightning_logs/version_0/metrics.csv"]

    @pytest.mark.parametrize("tracker", [f"tb/{EVENTS}", "lightning_logs/version_0/metrics.csv", "metrics.csv"])
    def test_what_stays_open_is_left_apart_and_named(self, tmp_path: Path, tracker: str) -> None:
        put(tmp_path, "logs/run-7.log")
        put(tmp_path, "logs/run-8.log")
        put(tmp_path, tracker, CSV)
        for run in (find(tmp_path, 7), find(tmp_path, 8)):
            assert tracker not in names(run)
            (said,) = [line for line in run.not_looked_at if "unknown run" in line]
            assert tracker.split("/", maxsplit=1)[0] in said

    def test_a_run_with_numbers_of_its_own_says_nothing(self, tmp_path: Path) -> None:
        put(tmp_path, "logs/run-7.log")
        put(tmp_path, "runs/7/metrics.csv", CSV)
        put(tmp_path, "logs/run-8.log")
        put(tmp_path, f"tb/{EVENTS}")
        assert not any("unknown run" in line for line in find(tmp_path, 7).not_looked_at)
        assert any("unknown run" in line for line in find(tmp_path, 8).not_looked_at)

    def test_thousands_of_files_are_joined_fast(self, tmp_path: Path) -> None:
        for number in range(300):
            put(tmp_path, f"logs/run-{number + 1000}.log", f"log_dir: runs/x{number}a\n" + LOG * 200)
            put(tmp_path, f"runs/x{number}a/{EVENTS}")
            put(tmp_path, f"lightning_logs/version_{number}/metrics.csv", CSV)
        start = time.process_time()
        run = find(tmp_path, 1007)
        assert time.process_time() - start < 5
        assert f"runs/x7a/{EVENTS}" in names(run)
        assert f"runs/x8a/{EVENTS}" not in names(run)


class TestParts:
    @pytest.mark.parametrize("name", ["run-61.part{}.log", "run-61_part{}.log", "run-61-part-{}.log", "vit.part{}.log"])
    def test_numbered_parts_are_one_run_in_order(self, tmp_path: Path, name: str) -> None:
        for number in (2, 1):
            put(tmp_path, "logs/" + name.format(number), at=NOON + 10 * number)
        put(tmp_path, f"tb/{EVENTS}")
        (run,) = listed(tmp_path)
        found = find(tmp_path, "vit" if "vit" in name else 61)
        logs = [artifact.name for artifact in found.artifacts if artifact.kind == "log"]
        assert logs == ["logs/" + name.format(1), "logs/" + name.format(2)], run
        assert f"tb/{EVENTS}" in names(found)
        assert len(found.attempts) == 2

    def test_the_part_without_a_number_is_the_last(self, tmp_path: Path) -> None:
        put(tmp_path, "logs/run-61.part1.log", at=NOON)
        put(tmp_path, "logs/run-61.log", at=NOON + 60)
        assert [attempt.names for attempt in find(tmp_path, 61).attempts] == [
            ("logs/run-61.part1.log",),
            ("logs/run-61.log",),
        ]
        assert listed(tmp_path) == {"run-61"}

    def test_other_runs_are_no_parts(self, tmp_path: Path) -> None:
        put(tmp_path, "logs/run-61.part1.log")
        put(tmp_path, "logs/run-611.log")
        put(tmp_path, "logs/run-61.log")
        assert "logs/run-611.log" not in names(find(tmp_path, 61))
        with pytest.raises(RunNotFound):
            find(tmp_path, None)
