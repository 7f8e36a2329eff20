"""How a run is found: every rule of the contract on a small tree, and all cases of the benchmark."""

from __future__ import annotations

import os
import textwrap
import time
from pathlib import Path

import pytest
import yaml

from experiment_debugger.errors import PathOutsideProject, RunNotFound
from experiment_debugger.project import find_project
from experiment_debugger.run import Run, list_runs, resolve

LOG = "epoch 1 step 10 loss 0.5\n"
HERE = Path(__file__).parent
CASES = next((folder for folder in (HERE / "cases", HERE.parents[1] / "shared" / "cases") if folder.is_dir()), None)


def tree(root: Path, *names: str, **texts: str) -> Path:
    """Files below `root`: log text for each name; `texts` maps names with `__` for `/` and `_dot_` for `.`."""
    for name in names:
        write(root, name, LOG)
    for name, text in texts.items():
        write(root, name.replace("__", "/").replace("_dot_", "."), text)
    return root


def write(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def find(root: Path, run: str | int | None, *, typed: bool = False, **env: str) -> Run:
    project = find_project(root, root, {"HOME": str(root / "no-home"), **env})
    return resolve(project, run, typed_path_allowed=typed)


def names(run: Run) -> set[str]:
    return {artifact.name for artifact in run.artifacts}


def refusal(root: Path, run: str | int | None) -> str:
    with pytest.raises(RunNotFound) as caught:
        find(root, run)
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestNames:
    @pytest.mark.parametrize(
        "name",
        [
            "logs/run-42.log",
            "slurm-42.out",
            "lightning_logs/version_42/metrics.csv",
            "runs/exp42/train.log",
            "runs/resnet-42/stdout.txt",
            "outputs/2024-01-01_run42/log.txt",
            "logs/run_0042.log",
            "wandb/run-20240101_101010-42/files/output.log",
            "ray_results/PPO_42/driver.log",
            "logs-vit-42/train.log",
            "train.o42",
        ],
    )
    def test_an_id_on_a_token_boundary_is_found(self, tmp_path: Path, name: str) -> None:
        tree(tmp_path, "logs/run-421.log", "runs/other-7/train.log")
        write(tmp_path, name, "step,loss\n1,0.5\n" if name.endswith(".csv") else LOG)
        for run in (42, "42"):
            found = find(tmp_path, run)
            assert name in names(found)
            assert "logs/run-421.log" not in names(found)
            assert "421" in " ".join(found.siblings)
            assert found.how_found == "names that carry '42'"

    @pytest.mark.parametrize(
        "name",
        [
            "logs/run-421.log",
            "logs/run-142.log",
            "runs/cora-seed42-1/train.log",
            "logs/lr0.42-a.log",
            "logs/x-rank-42.log",
            "runs/exp-1/checkpoint-42/x.log",
            "runs/exp-1/step_42.log",
            "logs/llama-42-run7.log",
            "logs/net42b.log",
        ],
    )
    def test_a_number_that_means_something_else_is_not_found(self, tmp_path: Path, name: str) -> None:
        tree(tmp_path, name, "logs/zzz-9.log")
        assert "run '42'" in refusal(tmp_path, 42)

    def test_spelling_of_separators_and_case_does_not_matter(self, tmp_path: Path) -> None:
        tree(tmp_path, "runs/Mistral_SFT-r17/train.log", "runs/other-1/train.log")
        assert "runs/Mistral_SFT-r17/train.log" in names(find(tmp_path, "mistral-sft_R17"))

    def test_leading_zeros_do_not_matter_when_one_run_fits(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/run_0097/stdout.log", "logs/run_0098/stdout.log")
        assert names(find(tmp_path, "97")) == {"logs/run_0097/stdout.log"}
        assert names(find(tmp_path, "0000097")) == {"logs/run_0097/stdout.log"}

    def test_the_exact_spelling_wins_over_leading_zeros(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/run-042.log", "logs/run-42.log")
        assert names(find(tmp_path, "42")) == {"logs/run-42.log"}
        assert names(find(tmp_path, "042")) == {"logs/run-042.log"}

    def test_leading_zeros_can_be_ambiguous(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/run-042.log", "logs/run-0042.log")
        assert "2 different runs" in refusal(tmp_path, "42")

    def test_all_artifacts_with_the_id_are_one_run(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/run-42.log", "slurm-42.out", "runs/net-42/train.log", "logs/run-7.log", "runs/net-8/a.log")
        write(tmp_path, "configs/42.yaml", "lr: 1\n")
        write(tmp_path, "docs/ops/runs/7-status.md", "- State: done\n")
        assert names(find(tmp_path, 42)) == {
            "logs/run-42.log", "slurm-42.out", "runs/net-42/train.log", "configs/42.yaml",
        }  # fmt: skip

    def test_a_part_of_a_run_can_be_asked_for(self, tmp_path: Path) -> None:
        tree(tmp_path, "results/Dataset1/trainer/fold_0/log.txt", "results/Dataset1/trainer/fold_1/log.txt")
        found = find(tmp_path, "fold_0")
        assert names(found) == {"results/Dataset1/trainer/fold_0/log.txt"}
        assert found.siblings == ("fold_1",)

    def test_a_time_stamp_names_the_run_that_has_it(self, tmp_path: Path) -> None:
        tree(tmp_path, "work_dirs/roofs/20220523_093011.log", "work_dirs/roofs/20220524_101010.log")
        assert names(find(tmp_path, "20220523_093011")) == {"work_dirs/roofs/20220523_093011.log"}

    def test_hydra_runs_are_named_by_date_and_time(self, tmp_path: Path) -> None:
        tree(tmp_path, "outputs/2025-09-10/01-00-36/train.log", "outputs/2025-09-10/02-00-00/train.log")
        write(tmp_path, "outputs/2025-09-10/01-00-36/.hydra/config.yaml", "lr: 1\n")
        found = find(tmp_path, "2025-09-10/01-00-36")
        assert names(found) == {
            "outputs/2025-09-10/01-00-36/train.log", "outputs/2025-09-10/01-00-36/.hydra/config.yaml",
        }  # fmt: skip
        assert found.siblings == ("2025-09-10/02-00-00",)

    def test_a_wandb_display_name_is_found_inside(self, tmp_path: Path) -> None:
        tree(tmp_path, "wandb/run-20240101_101010-ab12cd34/files/output.log")
        tree(tmp_path, "wandb/run-20240102_101010-zz99yy88/files/output.log")
        (tmp_path / "wandb/run-20240101_101010-ab12cd34/run-ab12cd34.wandb").write_bytes(
            b"\x00\x12graceful-sound-7\x1a"
        )
        found = find(tmp_path, "graceful-sound-7")
        assert "wandb/run-20240101_101010-ab12cd34/files/output.log" in names(found)
        assert "display name" in found.how_found
        assert names(find(tmp_path, "ab12cd34")) == names(found)

    def test_a_nameless_log_belongs_to_the_folder_that_is_the_project(self, tmp_path: Path) -> None:
        root = tree(tmp_path / "run-42", "train.log", "config.yaml")
        assert names(find(root, 42)) == {"train.log", "config.yaml"}

    def test_a_file_name_with_extension_is_understood(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/run-42.log", "logs/run-43.log")
        assert names(find(tmp_path, "run-42.log")) == {"logs/run-42.log"}


class TestSeveralAndNone:
    def test_different_runs_with_one_id_are_listed(self, tmp_path: Path) -> None:
        tree(tmp_path, "runs/pretrain-118/train.log", "runs/finetune-118/train.log")
        message = refusal(tmp_path, 118)
        assert "2 different runs" in message
        assert "runs/pretrain-118" in message
        assert "runs/finetune-118" in message

    def test_an_unfinished_id_is_ambiguous(self, tmp_path: Path) -> None:
        tree(tmp_path, "output/r50fpn-1x-0106/log.txt", "output/r50fpn-1x-0115/log.txt")
        assert "2 different runs" in refusal(tmp_path, "r50fpn-1x")
        found = find(tmp_path, "r50fpn-1x-0106")
        assert names(found) == {"output/r50fpn-1x-0106/log.txt"}
        assert found.siblings == ("r50fpn-1x-0115",)

    def test_an_exact_name_wins_over_longer_ones(self, tmp_path: Path) -> None:
        tree(tmp_path, "runs/fold2/train.log", "runs/fold2-lr3/train.log", "runs/big-fold2/train.log")
        assert names(find(tmp_path, "fold2")) == {"runs/fold2/train.log"}

    def test_the_same_part_in_two_runs_is_ambiguous(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/fold1/version_3/run.out", "logs/fold2/version_3/run.out")
        assert "2 different runs" in refusal(tmp_path, "version_3")

    def test_no_such_run_names_the_folder_and_what_is_there(self, tmp_path: Path) -> None:
        tree(tmp_path, "runs/a-1/train.log", "runs/b-2/train.log")
        message = refusal(tmp_path, "c-3")
        assert str(tmp_path) in message
        assert "a-1" in message
        assert "b-2" in message

    def test_an_empty_project_says_so(self, tmp_path: Path) -> None:
        assert "no log, metrics or event file" in refusal(tmp_path, 42)
        assert str(tmp_path) in refusal(tmp_path, None)

    def test_without_an_id_the_only_run_is_meant(self, tmp_path: Path) -> None:
        tree(tmp_path, "train.log", "src/train.py")
        assert names(find(tmp_path, None)) == {"train.log", "src/train.py"}

    def test_without_an_id_several_runs_are_listed(self, tmp_path: Path) -> None:
        tree(tmp_path, "runs/a-1/train.log", "runs/b-2/train.log")
        assert "found 2: " in refusal(tmp_path, None)


class TestOneRun:
    def test_everything_is_its(self, tmp_path: Path) -> None:
        tree(tmp_path, "slurm-42.out", "tools/prepare.log", "train.py", "pkg/model.py")
        write(tmp_path, "configs/big.yaml", "lr: 1\n")
        write(tmp_path, "docs/ops/node-05-dmesg.txt", "[    3.102211] NVRM: loading\n")
        write(tmp_path, "data/label_map.csv", "id,name\n0,a\n")
        write(tmp_path, "requirements.txt", "torch==2.1\n")
        found = find(tmp_path, 42)
        assert names(found) == {
            "slurm-42.out", "tools/prepare.log", "train.py", "pkg/model.py", "configs/big.yaml",
            "docs/ops/node-05-dmesg.txt", "data/label_map.csv", "requirements.txt",
        }  # fmt: skip
        assert found.siblings == ()

    def test_big_data_pictures_and_environments_are_not(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/run-1.log", "venv/lib/x.log", ".git/logs/HEAD.log", "node_modules/a.log")
        write(tmp_path, "myenv/pyvenv.cfg", "")
        write(tmp_path, "myenv/x.log", LOG)
        for number in range(300):
            write(tmp_path, f"data/{number}.txt", "x")
        write(tmp_path, "logs/curve.png", "x")
        found = find(tmp_path, 1)
        assert names(found) == {"logs/run-1.log"}
        assert found.not_looked_at == ("data (folder of data)",)

    def test_a_job_and_the_folder_that_it_names_are_one_run(self, tmp_path: Path) -> None:
        tree(tmp_path, "runs/seg-aug-05/train.log", "docs/pyspy-g1.txt")
        write(tmp_path, "slurm-660412.out", "srun python train.py --name seg-aug-05\n")
        for run in ("seg-aug-05", 660412):
            assert names(find(tmp_path, run)) >= {"runs/seg-aug-05/train.log", "slurm-660412.out"}

    def test_a_checkpoint_s_origin_is_another_run(self, tmp_path: Path) -> None:
        tree(tmp_path, "runs/base-1/train.log")
        write(tmp_path, "slurm-660412.out", "python train.py --resume_from runs/base-1/last.ckpt\n" + LOG)
        assert "slurm-660412.out" not in names(find(tmp_path, "base-1"))


class TestSources:
    def test_a_registry_entry_names_the_log(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/alpha-1.log", "logs/beta-2.log")
        write(
            tmp_path,
            ".agent/run-status/runs.yaml",
            "runs:\n  '42':\n    backend: slurm\n    log: logs/alpha-1.log\n    job_id: 9123\n    state: FAILED\n"
            "    progress_patterns: ['it (?P<step>\\d+)']\n",
        )
        found = find(tmp_path, 42)
        assert found.how_found == "entry in .agent/run-status/runs.yaml:2"
        assert names(found) == {"logs/alpha-1.log"}
        assert found.declared.job_id == "9123"
        assert found.declared.state == "FAILED"
        assert found.declared.progress_patterns == ("it (?P<step>\\d+)",)
        assert names(find(tmp_path, 9123)) == names(found)

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("runs.json", '[{"id": 42, "log": "logs/alpha-1.log"}]'),
            ("docs/ops/runs.yaml", "'42': logs/alpha-1.log\n"),
            ("docs/ops/runs.yaml", "- {run_id: 42, log_dir: logs, log: ./logs/alpha-1.log}\n"),
        ],
    )
    def test_registries_have_several_shapes(self, tmp_path: Path, name: str, text: str) -> None:
        tree(tmp_path, "logs/alpha-1.log", "logs/beta-2.log")
        write(tmp_path, name, text)
        assert names(find(tmp_path, 42)) == {"logs/alpha-1.log"}

    def test_a_registry_decides_between_different_runs(self, tmp_path: Path) -> None:
        tree(tmp_path, "runs/pretrain-118/train.log", "runs/finetune-118/train.log")
        write(tmp_path, "runs.json", '{"118": {"log": "runs/finetune-118/train.log"}}')
        assert names(find(tmp_path, 118)) == {"runs/finetune-118/train.log"}

    @pytest.mark.parametrize("text", ["a: [b\nc", "{", "42: !!python/object:os.system {}\n", "\x00\x01"])
    def test_a_broken_registry_is_a_note(self, tmp_path: Path, text: str) -> None:
        tree(tmp_path, "logs/run-42.log", "logs/run-7.log")
        write(tmp_path, "docs/ops/runs.yaml", text)
        write(tmp_path, "runs.json", "{broken")
        found = find(tmp_path, 42)
        assert names(found) == {"logs/run-42.log"}
        assert any(note.startswith("runs.json (broken JSON") for note in found.unreadable)
        assert any(note.startswith("docs/ops/runs.yaml") for note in found.unreadable)

    def test_a_registry_entry_cannot_lead_outside(self, tmp_path: Path) -> None:
        secret = write(tmp_path, "elsewhere/secret.log", LOG)
        root = tree(tmp_path / "project", "logs/run-7.log", "logs/run-42.log")
        write(root, "runs.json", f'{{"42": {{"log": "{secret}"}}, "43": {{"log": "../elsewhere/secret.log"}}}}')
        found = find(root, 42)
        assert names(found) == {"logs/run-42.log"}
        assert "outside the project" in found.missing[0]
        assert "outside the project" in refusal(root, 43)
        allowed = find(root, 43, EXPERIMENT_DEBUGGER_ROOTS=str(tmp_path / "elsewhere"))
        assert [artifact.path.name for artifact in allowed.artifacts if artifact.kind == "log"] == ["secret.log"]

    def test_a_handoff_row_leads_to_its_run(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/run-42.log", "logs/run-7.log")
        write(
            tmp_path,
            "memory/handoff-board.md",
            "| ID | Status | Payload | Source paths |\n|---|---|---|---|\n"
            "| HND-011 | ready | x | logs/run-7.log |\n| HND-012 | ready | debug it | docs/ops/runs/42-status.md |\n",
        )
        found = find(tmp_path, "hnd-012")
        assert found.id == "42"
        assert found.how_found == "handoff row memory/handoff-board.md:4 (ready)"
        assert names(found) == {"logs/run-42.log"}
        assert "logs/run-7.log" in names(find(tmp_path, "HND-011"))

    def test_a_handoff_row_is_read_by_its_columns_and_its_payload(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/exp-a/out.log", "logs/exp-b/out.log")
        board = """\
            Status | **id** | Consumer | Payload | Source paths
            --- | --- | --- | --- | ---
            ready | **HND-020** | experiment-debugger | loss \\| oom | logs/exp-a/out.log
            ready | HND-021 | experiment-debugger | please debug | docs/ops/handoffs/77-to-experiment-debugger.yaml
            ready | HND-022 | experiment-debugger | please debug | nothing
            """
        write(tmp_path, "memory/handoff-board.md", textwrap.dedent(board))
        write(tmp_path, "docs/ops/handoffs/77-to-experiment-debugger.yaml", "run: 77\npaths: [logs/exp-b/out.log]\n")
        found = find(tmp_path, "HND-020")
        assert (found.id, names(found)) == ("exp-a", {"logs/exp-a/out.log"})
        assert found.how_found == "handoff row memory/handoff-board.md:3 (ready, to experiment-debugger)"
        assert find(tmp_path, "HND-021").id == "77"
        assert "logs/exp-b/out.log" in names(find(tmp_path, "HND-021"))
        assert "handoff row memory/handoff-board.md:5" in refusal(tmp_path, "HND-022")

    def test_a_status_note_tells_state_and_log(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/alpha-1.log", "logs/beta-2.log")
        write(
            tmp_path,
            "docs/ops/runs/42-status.md",
            "# 42\n- State: failed\n- Progress: 3/10\n- Log: `logs/alpha-1.log`\n",
        )
        found = find(tmp_path, 42)
        assert found.how_found == "status note docs/ops/runs/42-status.md:1"
        assert names(found) == {"logs/alpha-1.log", "docs/ops/runs/42-status.md"}
        assert (found.declared.state, found.declared.state_at) == ("failed", "docs/ops/runs/42-status.md:2")

    def test_sacct_knows_the_state_better_than_a_note(self, tmp_path: Path) -> None:
        tree(tmp_path, "slurm-42000.out", "slurm-42001.out")
        write(tmp_path, "docs/ops/runs/42000-status.md", "- State: running\n")
        write(tmp_path, "sacct.txt", "JobID|JobName|State|ExitCode\n42001|b|FAILED|1:0\n42000|a|TIMEOUT|0:0\n")
        found = find(tmp_path, 42000)
        assert "sacct.txt" in names(found)
        assert (found.declared.state, found.declared.state_at) == ("TIMEOUT", "sacct.txt:3")
        states = {run.id: run.state for run in list_runs(found.project)}
        assert states == {"42000": "timeout", "42001": "failed"}


class TestJobFiles:
    def test_sbatch_patterns_are_resolved(self, tmp_path: Path) -> None:
        tree(tmp_path, "outputs/logs/sft13b/slurm-77001.out", "outputs/logs/sft13b/slurm-77001.err")
        tree(tmp_path, "outputs/logs/other/slurm-77002.out", "jobs/other.sh")
        write(
            tmp_path,
            "jobs/sft13b.sh",
            "#!/bin/bash\n#SBATCH -J sft13b -N 2 --gres=gpu:4\n#SBATCH --mem=200G  # host\n"
            "#SBATCH --output=outputs/logs/%x/slurm-%j.out\n#SBATCH -e outputs/logs/%x/slurm-%j.err\n"
            "export NCCL_DEBUG=INFO HF_TOKEN=" + "hf_" + "aB3" * 12 + "\n# commit: 0a1b2c3d\n"
            "srun python train.py \\\n  --config configs/a.yaml\n",
        )
        write(tmp_path, "configs/a.yaml", "lr: 1\n")
        found = find(tmp_path, "sft13b")
        assert found.how_found == "job file jobs/sft13b.sh"
        assert names(found) >= {
            "outputs/logs/sft13b/slurm-77001.out", "outputs/logs/sft13b/slurm-77001.err", "jobs/sft13b.sh",
            "configs/a.yaml",
        }  # fmt: skip
        assert "outputs/logs/other/slurm-77002.out" not in names(found)
        assert found.declared.command == "srun python train.py --config configs/a.yaml"
        assert found.declared.command_at == "jobs/sft13b.sh:8"
        assert found.declared.resources == {"nodes": "2", "gres": "gpu:4", "mem": "200G"}
        assert found.declared.commit == "0a1b2c3d"
        assert "hf_" not in str(found.declared.environment)

    @pytest.mark.parametrize(
        ("pattern", "log"),
        [
            ("slurm-%j.out", "slurm-123456.out"),
            ("logs/%x-%A_%a.log", "logs/sweep-123456_7.log"),
            ("logs/%N/%j/all.log", "logs/gpu-03/123456/all.log"),
            ("%8j.out", "00123456.out"),
            ("logs/%x/%j_%t.txt", "logs/sweep/123456_3.txt"),
        ],
    )
    def test_every_placeholder(self, tmp_path: Path, pattern: str, log: str) -> None:
        tree(tmp_path, log, "runs/other-5/train.log")
        write(
            tmp_path,
            "jobs/s9.sbatch",
            f"#!/bin/bash\n#SBATCH --job-name sweep\n#SBATCH -o {pattern}\npython train.py\n",
        )
        assert log in names(find(tmp_path, "s9"))

    def test_a_pattern_that_two_jobs_share_proves_nothing(self, tmp_path: Path) -> None:
        tree(tmp_path, "slurm-70001.out")
        write(tmp_path, "slurm-70002.out", "job alpha\n" + LOG)
        for job in ("alpha", "beta"):
            write(tmp_path, f"jobs/{job}.sh", f"#!/bin/bash\n#SBATCH -J {job} -o slurm-%j.out\npython train.py\n")
        found = find(tmp_path, "alpha")
        assert "slurm-70002.out" in names(found)
        assert "slurm-70001.out" not in names(found)
        assert any("also that of jobs/beta.sh" in text for text in found.missing)

    @pytest.mark.parametrize("job", ["jobs/77-runai.sh", "jobs/77-local.sh"])
    def test_runai_and_local_scripts(self, tmp_path: Path, job: str) -> None:
        tree(tmp_path, "logs/run-77.log", "logs/run-8.log")
        write(tmp_path, job, "#!/bin/sh\nrunai submit train-77 --gpu 2 -e SEED=3 -- python train.py --lr 1\n")
        found = find(tmp_path, 77)
        assert names(found) == {"logs/run-77.log", job}
        assert found.declared.environment == {"SEED": "3"}
        assert found.declared.resources == {"gpu": "2"}

    def test_a_yaml_job(self, tmp_path: Path) -> None:
        tree(tmp_path, "outputs/a.log", "outputs/b.log")
        write(
            tmp_path,
            "jobs/42.yaml",
            "job_name: '42'\ncommand: [python, train.py]\nenv: {SEED: 3}\nresources: {gpu: 4}\nlog: outputs/a.log\n",
        )
        found = find(tmp_path, 42)
        assert "outputs/a.log" in names(found)
        assert found.declared.command == "python train.py"
        assert found.declared.command_at == "jobs/42.yaml:2"
        assert found.declared.environment == {"SEED": "3"}

    def test_a_job_is_known_by_the_name_that_it_gives_itself(self, tmp_path: Path) -> None:
        tree(tmp_path, "slurm-70001.out", "runs/other-1/train.log")
        write(tmp_path, "train.sbatch", "#!/bin/bash\n#SBATCH -J ego-bc\npython train.py\n")
        assert "slurm-70001.out" in names(find(tmp_path, "ego-bc"))

    def test_a_job_without_output_says_what_was_expected(self, tmp_path: Path) -> None:
        tree(tmp_path, "runs/other-1/train.log")
        write(tmp_path, "jobs/42.sh", "#!/bin/sh\n#SBATCH -o logs/%j.out\npython train.py\n")
        assert "logs/%j.out" in refusal(tmp_path, 42)


class TestAttempts:
    @pytest.mark.parametrize(
        ("files", "labels"),
        [
            (["slurm-42.out", "slurm-42-1.out", "slurm-42-10.out", "slurm-42-2.out"], ["42", "1", "2", "10"]),
            (["logs/a-7/attempt_0/0/stderr.log", "logs/a-7/attempt_1/0/stderr.log"], ["attempt-0", "attempt-1"]),
            (["runs/a-7/restart_2/train.log", "runs/a-7/restart_10/train.log"], ["restart-2", "restart-10"]),
            (["logs/a7/version_3/run.out", "logs/a7/version_4/run.out"], ["version-3", "version-4"]),
            (["runs/a-7-full/x.log", "runs/a-7-resumed/x.log"], ["a-7", "resumed"]),
            (["runs/a-7/first/x.log", "runs/a-7/second/x.log"], ["first", "second"]),
            (["work_dirs/a7/20240101_101010.log", "work_dirs/a7/20240102_101010.log"],
             ["20240101-101010", "20240102-101010"]),
        ],
    )  # fmt: skip
    def test_attempts_are_ordered_by_name(self, tmp_path: Path, files: list[str], labels: list[str]) -> None:
        for number, name in enumerate(files):
            os.utime(write(tmp_path, name, LOG), (1000 - number, 1000 - number))
        run = next(part for part in (42, "a-7", "a7") if str(part) in files[0])
        assert [attempt.label for attempt in find(tmp_path, run).attempts] == labels

    def test_several_jobs_of_one_run_are_ordered_by_their_number(self, tmp_path: Path) -> None:
        tree(tmp_path, "outputs/logs/big/slurm-9999.out", "outputs/logs/big/slurm-10001.out")
        found = find(tmp_path, "big")
        assert [attempt.names[0] for attempt in found.attempts] == [
            "outputs/logs/big/slurm-9999.out", "outputs/logs/big/slurm-10001.out",
        ]  # fmt: skip

    def test_ranks_nodes_trials_and_epochs_are_no_attempts(self, tmp_path: Path) -> None:
        tree(
            tmp_path, *(f"logs/a-7/{name}.log" for name in ("rank_0", "rank_1", "node0", "node1", "trial_1", "trial_2"))
        )
        tree(tmp_path, "logs/a-7/epoch_1/x.log", "logs/a-7/epoch_2/x.log")
        assert len(find(tmp_path, "a-7").attempts) == 1

    def test_a_launcher_goes_with_the_last_attempt(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/a-7/attempt_0/0/stderr.log", "logs/a-7/attempt_1/0/stderr.log", "logs/a-7/launcher.log")
        attempts = {artifact.name: artifact.attempt for artifact in find(tmp_path, "a-7").artifacts}
        assert attempts["logs/a-7/launcher.log"] == 1

    def test_a_rotated_log_is_one_attempt_in_parts(self, tmp_path: Path) -> None:
        files = ["logs/a-7.log.10", "logs/a-7.log.2", "logs/a-7.log.1", "logs/a-7.log"]
        tree(tmp_path, *files)
        found = find(tmp_path, "a-7")
        assert len(found.attempts) == 1
        assert [(artifact.name, artifact.part) for artifact in found.artifacts] == list(
            zip(files, range(4), strict=True)
        )

    @pytest.mark.parametrize(
        ("name", "rank"),
        [
            ("rank_05.log", 5),
            ("rank0.log", 0),
            ("attempt_0/3/stderr.log", 3),
            ("pyspy_rank2_worker5.txt", 2),
            ("nemo_log_globalrank-9_localrank-1.txt", 9),
            ("node-1-0.log", None),
            ("localrank-3.log", None),
            ("train.log", None),
        ],
    )
    def test_the_rank_comes_from_the_name(self, tmp_path: Path, name: str, rank: int | None) -> None:
        tree(tmp_path, f"logs/a-7/{name}")
        assert find(tmp_path, "a-7").artifacts[0].rank == rank


class TestOneHop:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        write(tmp_path, "runs/a-1/train.log", "[31877] host gn-07 --config configs/big.yaml\n" + LOG)
        write(tmp_path, "runs/b-2/train.log", "[41877] host gn-08\n" + LOG)
        return tmp_path

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("docs/pyspy.txt", "$ py-spy dump --pid 31877\nProcess 31877: python\n"),
            ("docs/gn-07-dmesg.txt", "[    3.102211] NVRM: Xid 79\n"),
            ("docs/ops/dmesg.txt", "[    3.102211] Out of memory: Killed process 31877 (python)\n"),
            ("configs/big.yaml", "lr: 1\nmodel: configs/model.yaml\n"),
            ("configs/model.yaml", "dim: 1\n"),
        ],
    )
    def test_what_the_run_names_and_what_names_the_run(self, root: Path, name: str, text: str) -> None:
        write(root, "configs/unrelated.yaml", "lr: 1\n")
        write(root, "configs/big.yaml", "lr: 1\nmodel: configs/model.yaml\n")
        write(root, name, text)
        assert name in names(find(root, "a-1"))
        assert name not in names(find(root, "b-2"))

    def test_a_config_with_part_of_the_run_s_name_is_its(self, root: Path) -> None:
        write(root, "configs/a_1.yaml", "lr: 1\n")
        write(root, "configs/sub/b_2.yaml", "lr: 1\n")
        assert names(find(root, "b-2")) == {"runs/b-2/train.log", "configs/sub/b_2.yaml"}

    def test_code_belongs_to_every_run(self, root: Path) -> None:
        write(root, "src/model.py", "x = 1\n")
        assert "src/model.py" in names(find(root, "a-1")) & names(find(root, "b-2"))

    def test_a_config_that_is_not_there_is_missing(self, root: Path) -> None:
        write(root, "jobs/a-1.sh", "python train.py --config configs/gone.yaml\n")
        assert find(root, "a-1").missing == ("configs/gone.yaml (named in jobs/a-1.sh:1; not in the project)",)


class TestPaths:
    def test_a_log_is_a_run(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/run-42.log", "logs/run-42.err", "logs/run-7.log")
        found = find(tmp_path, "logs/run-42.log")
        assert found.how_found == "path"
        assert found.id == "run-42"
        assert names(found) == {"logs/run-42.log", "logs/run-42.err"}

    def test_a_folder_is_a_run(self, tmp_path: Path) -> None:
        tree(tmp_path, "somewhere/x/a.log", "somewhere/x/sub/b.txt", "logs/run-7.log")
        assert names(find(tmp_path, "somewhere/x")) == {"somewhere/x/a.log", "somewhere/x/sub/b.txt"}

    def test_a_path_outside_must_be_typed_by_a_person(self, tmp_path: Path) -> None:
        outside = write(tmp_path, "elsewhere/x.log", LOG)
        root = tree(tmp_path / "project", "logs/run-7.log")
        for path in (str(outside), "../elsewhere/x.log"):
            with pytest.raises(PathOutsideProject):
                find(root, path)
            assert [artifact.path.name for artifact in find(root, path, typed=True).artifacts] == ["x.log"]

    def test_a_path_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        assert "./gone.log" in refusal(tmp_path, "./gone.log")


class TestTrees:
    def test_symlinked_logs_are_read_and_shown_inside(self, tmp_path: Path) -> None:
        scratch = tree(tmp_path / "scratch", "run-42.log", "run-7.log")
        root = tmp_path / "project"
        root.mkdir()
        (root / "logs").symlink_to(scratch)
        (scratch / "latest.log").symlink_to(scratch / "run-42.log")
        assert names(find(root, 42)) == {"logs/run-42.log"}

    def test_a_symlink_loop_ends(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/run-42.log")
        (tmp_path / "logs" / "again").symlink_to(tmp_path)
        (tmp_path / "logs" / "self").symlink_to(tmp_path / "logs" / "self")
        assert names(find(tmp_path, 42)) == {"logs/run-42.log"}

    def test_a_symlink_elsewhere_is_not_followed(self, tmp_path: Path) -> None:
        tree(tmp_path / "private", "run-42.log")
        root = tree(tmp_path / "project", "logs/run-7.log")
        (root / "src").symlink_to(tmp_path / "private")
        assert any("leaves the project" in note for note in find(root, 7).not_looked_at)
        refusal(root, 42)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
    def test_a_fifo_is_named_and_never_opened(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/run-42.log")
        os.mkfifo(tmp_path / "logs" / "run-42.out")
        found = find(tmp_path, 42)
        assert names(found) == {"logs/run-42.log"}
        assert found.not_looked_at == ("logs/run-42.out (not a regular file: fifo)",)

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
    def test_a_folder_without_permission_is_named(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/run-42.log", "logs/closed/x.log")
        (tmp_path / "logs" / "closed").chmod(0)
        try:
            assert find(tmp_path, 42).unreadable == ("logs/closed (permission denied)",)
        finally:
            (tmp_path / "logs" / "closed").chmod(0o755)

    def test_binary_and_broken_logs_are_named(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/run-42.log")
        (tmp_path / "logs" / "run-42.out").write_bytes(bytes(range(256)) * 40)
        (tmp_path / "logs" / "run-42.err").write_bytes(b"\x00" * 8192 + LOG.encode() * 400)
        (tmp_path / "logs" / "gone.log").symlink_to(tmp_path / "nowhere")
        found = find(tmp_path, 42)
        assert names(found) == {"logs/run-42.log", "logs/run-42.err"}
        assert set(found.unreadable) == {"logs/run-42.out (binary, no text)", "logs/gone.log (broken symlink)"}

    def test_an_empty_log_stays(self, tmp_path: Path) -> None:
        write(tmp_path, "logs/run-42.log", "")
        assert names(find(tmp_path, 42)) == {"logs/run-42.log"}

    def test_too_deep_folders_are_named(self, tmp_path: Path) -> None:
        tree(tmp_path, "logs/run-42/a.log", "logs/run-42/1/2/3/4/5/6/deep.log")
        assert any("deeper than 6" in note for note in find(tmp_path, 42).not_looked_at)

    def test_three_hundred_files_are_fast(self, tmp_path: Path) -> None:
        for number in range(100):
            write(tmp_path, f"runs/exp-{number}/train.log", LOG * 2000)
            write(tmp_path, f"configs/exp-{number}.yaml", "lr: 1\n")
            write(tmp_path, f"slurm-{70000 + number}.out", f"python train.py configs/exp-{number}.yaml\n" + LOG * 2000)
        find(tmp_path, "exp-8")
        started = time.process_time()
        found = find(tmp_path, "exp-7")
        assert time.process_time() - started < 0.4  # about 0.07 s where nothing else runs
        assert names(found) == {"runs/exp-7/train.log", "configs/exp-7.yaml", "slurm-70007.out"}
        assert len(found.siblings) == 198

    def test_a_repository_above_the_root_is_not_the_project_s(self, tmp_path: Path) -> None:
        tree(tmp_path, ".git/HEAD", "logs/run-42.log")
        root = tree(tmp_path / "inner", "logs/run-7.log")
        assert str(root) in refusal(root, 42)

    def test_the_newest_run_is_listed_first(self, tmp_path: Path) -> None:
        for name, when in (("a-1", 100), ("b-2", 300), ("c-3", 200)):
            os.utime(write(tmp_path, f"runs/{name}/train.log", LOG), (when, when))
        write(
            tmp_path, "runs.json", '{"77": {"log": "runs/c-3/train.log", "state": "running"}, "5": {"state": "done"}}'
        )
        listed = list_runs(find_project(tmp_path, tmp_path, {}))
        assert [(run.id, run.state) for run in listed] == [
            ("b-2", "unknown"), ("77", "running"), ("a-1", "unknown"), ("5", "completed"),
        ]  # fmt: skip


KINDS = [
    ("logs/a-1/events.out.tfevents.1650000000.host.1.0", "x", "tensorboard"),
    ("wandb/run-20240101_101010-ab12cd34/run-ab12cd34.wandb", "x", "wandb"),
    ("wandb/run-20240101_101010-ab12cd34/logs/debug.log", "x", "wandb"),
    ("runs/a-1/train.log.3.gz", "x", "log"),
    ("runs/a-1/debug.log", "x", "log"),
    ("runs/a-1/stdout.txt", "| NVIDIA-SMI 535 |\nepoch 1 loss 2\n", "log"),
    ("runs/a-1/console", LOG, "log"),
    ("runs/a-1/dmesg.txt", "x", "kernel"),
    ("runs/a-1/node7.txt", "[    3.102211] NVRM: Xid\n", "kernel"),
    ("runs/a-1/pyspy_rank2.txt", "x", "dump"),
    ("runs/a-1/smi.csv", "timestamp, utilization.gpu [%]\n", "gpu-log"),
    ("runs/a-1/dmon_gpu0.txt", "# gpu pwr\n", "gpu-log"),
    ("runs/a-1/gpu_mem.csv", "iter,allocated_mib\n0,1\n", "metrics"),
    ("runs/a-1/trainer_state.json", "{}", "metrics"),
    ("runs/a-1/metadata.json", '{"git": {"commit": "e41b773"}}', "environment"),
    ("runs/a-1/env.txt", "python 3.7\n", "environment"),
    ("requirements.txt", "torch==2\n", "environment"),
    ("runs/a-1/params.txt", "lr: 1\nname: x\nseed: 0\nepochs: 3\nwd: 0.1\n", "config"),
    ("runs/a-1/hparams.yaml", "lr: 1\n", "config"),
    ("ds/z3.json", '{"zero_optimization": {}}', "config"),
    ("runs/a-1/slurm-epilog.txt", "x", "scheduler"),
    ("runs/a-1/trainjob-status.yaml", "status:\n  conditions: []\n", "scheduler"),
    ("acct.txt", "JobID|JobName|State\n", "scheduler"),
    ("run.sh", "#!/bin/sh\n", "job"),
    ("jobs/1.yaml", "command: x\n", "job"),
    ("docs/ops/runs/1-status.md", "- State: x\n", "status"),
    ("docs/ops/runs/1-debug.md", "Traceback\n", "other"),
    ("docs/stats.txt", "val: 760 images\n", "other"),
    ("runs/INDEX.txt", "x", "other"),
    ("data/labels.csv", "id,name\n", "other"),
    ("checkpoints/a-1/last.ckpt", "x", "checkpoint"),
    ("train.ipynb", "{}", "notebook"),
    ("train.py", "x", "code"),
]


@pytest.mark.parametrize(("name", "text", "kind"), KINDS)
def test_the_kind_of_an_artifact(tmp_path: Path, name: str, text: str, kind: str) -> None:
    tree(
        tmp_path,
        "runs/a-1/x.log" if not name.startswith("wandb") else "wandb/run-20240101_101010-ab12cd34/files/output.log",
    )
    write(tmp_path, name, text)
    kinds = {artifact.name: artifact.kind for artifact in find(tmp_path, None).artifacts}
    assert kinds[name] == kind


@pytest.mark.skipif(CASES is None, reason="the benchmark is not here")
@pytest.mark.parametrize("case", sorted(CASES.glob("*/case.yaml")) if CASES else [], ids=lambda path: path.parent.name)
def test_every_case_of_the_benchmark_is_found_with_its_evidence(case: Path) -> None:
    truth = yaml.safe_load(case.read_text(encoding="utf-8"))
    root = case.parent / "project"
    found = find(root, truth["run_id"])
    wanted = {place.rpartition(":")[0] for place in truth["evidence"]}
    siblings = {name for sibling in found.siblings for name in names(find(root, sibling))}
    assert wanted <= names(found) | siblings
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert files <= names(found) | siblings
    assert found.unreadable == ()
