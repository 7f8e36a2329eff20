from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from samples import write

from experiment_debugger.errors import DebuggerError
from experiment_debugger.project import Project
from experiment_debugger.run import Run, resolve
from experiment_debugger.smoke.command import command_of, given
from experiment_debugger.smoke.order import Command

LOG = "step 1 loss 2.0\nstep 2 loss nan\n"
SCRIPT = "#!/bin/bash\n#SBATCH -J 42\nexport SEED=1\nsrun python train.py --config configs/a.yaml\n"


def run_of(root: Path, files: dict[str, str]) -> Run:
    (root / ".git").mkdir(exist_ok=True)
    for name, text in {"logs/run-42.log": LOG, "train.py": "print(1)\n", **files}.items():
        write(root / name, text)
    return resolve(Project(root), "42")


def refusal(root: Path, files: dict[str, str]) -> str:
    with pytest.raises(DebuggerError) as caught:
        command_of(run_of(root, files))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_job_script_is_run_as_a_script_with_the_configs_that_it_names(tmp_path: Path) -> None:
    command = command_of(run_of(tmp_path, {"jobs/42.sh": SCRIPT, "configs/a.yaml": "lr: 1\n"}))
    assert command.argv == ("bash", "jobs/42.sh")
    assert command.source == "jobs/42.sh"
    assert command.files == ("jobs/42.sh", "configs/a.yaml")
    assert command.is_script


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["jobs/42.sh", "jobs/42-local.sh", "jobs/42-runai.sh"], "jobs/42-local.sh"),
        (["jobs/42.sh", "jobs/42-runai.sh"], "jobs/42.sh"),
        (["jobs/42-runai.sh", "jobs/43.sh"], "jobs/42-runai.sh"),
    ],
)
def test_local_scripts_come_first(tmp_path: Path, names: list[str], chosen: str) -> None:
    assert command_of(run_of(tmp_path, dict.fromkeys(names, SCRIPT))).argv == ("bash", chosen)


def test_of_several_scripts_the_one_that_trains_is_run(tmp_path: Path) -> None:
    files = {"scripts/download.sh": "curl -O https://example.com/x\n", "scripts/go.sh": "python train.py\n"}
    assert command_of(run_of(tmp_path, files)).argv == ("bash", "scripts/go.sh")


def test_two_scripts_that_train_are_not_guessed_between(tmp_path: Path) -> None:
    said = refusal(tmp_path, {"scripts/a.sh": "python train.py\n", "scripts/b.sh": "python train.py --b\n"})
    assert "scripts/a.sh, scripts/b.sh" in said


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("sbatch jobs/real.sbatch", "sbatch"),
        ("JOB=$(sbatch --parsable jobs/real.sbatch)", "sbatch"),
        ("runai submit --image x -- python train.py", "runai submit"),
        ("if true; then kubectl apply -f job.yaml; fi", "kubectl apply"),
        ("sbatch <<EOF\n#!/bin/bash\nsrun python train.py\nEOF", "sbatch"),
        ("docker run --gpus all image python train.py", "docker run"),
        ("ssh node17 python train.py", "ssh"),
        ("if [ $# -gt 0 ]; then sbatch x; fi", "sbatch"),
        ("nohup timeout 1h ssh node17 python train.py &", "ssh"),
    ],
)
def test_a_script_that_hands_the_work_over_is_refused_with_its_line(tmp_path: Path, line: str, named: str) -> None:
    said = refusal(tmp_path, {"jobs/42.sh": f"#!/bin/bash\n# sbatch me\n{line}\n"})
    assert "jobs/42.sh:3:" in said
    assert f"`{named}`" in said
    assert "after --" in said


@pytest.mark.parametrize(
    "line",
    [
        "echo 'sbatch jobs/42.sh'",
        "command -v sbatch",
        "python train.py --tag a#1 # old: cd x; sbatch y",
        "python train.py --name sbatch",
        "cat <<E\nsbatch x\nE",
    ],
)
def test_a_word_is_no_handover(tmp_path: Path, line: str) -> None:
    assert command_of(run_of(tmp_path, {"jobs/42.sh": f"{line}\npython train.py\n"})).is_script


def test_another_source_is_taken_where_the_script_only_submits(tmp_path: Path) -> None:
    files = {
        "jobs/42-runai.sh": "runai submit -- python train.py\n",
        "jobs/42.yaml": "command: python train.py --lr 1\n",
    }
    assert command_of(run_of(tmp_path, files)).argv == ("python", "train.py", "--lr", "1")


def test_a_job_yaml_gives_words_settings_and_environment(tmp_path: Path) -> None:
    command_lines = "  LR=3e-4 python train.py --name 'a b' \\\n    --config configs/a.yaml\n"
    job = f"name: run-42\ncommand: |-\n{command_lines}env: {{SEED: 1}}\n"
    command = command_of(run_of(tmp_path, {"jobs/42.yaml": job, "configs/a.yaml": "lr: 1\n"}))
    assert command.argv == ("python", "train.py", "--name", "a b", "--config", "configs/a.yaml")
    assert command.environment == {"LR": "3e-4", "SEED": "1"}
    assert command.source == "jobs/42.yaml:2"
    assert command.files == ("configs/a.yaml",)


def test_a_kubernetes_job_gives_command_arguments_and_environment(tmp_path: Path) -> None:
    job = (
        "kind: Job\nspec:\n  containers:\n  - command: [python, train.py]\n    args: ['--lr', '3e-4']\n"
        "    env: [{name: SEED, value: '1'}, {name: KEY, valueFrom: {}}]\n"
    )
    command = command_of(run_of(tmp_path, {"jobs/42.yaml": job}))
    assert command.argv == ("python", "train.py", "--lr", "3e-4")
    assert command.environment == {"SEED": "1"}
    assert command.source == "jobs/42.yaml:4"


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("cd src && python train.py", "`&&`"),
        ("python train.py | tee log", "`|`"),
        ("python train.py; echo done", "`;`"),
        ("python train.py > log 2>&1", "`>`"),
        ("python train.py --out $OUT", "`$OUT`"),
        ("python train.py --out ${OUT}/x", "`${OUT}`"),
        ('python train.py --out "$OUT"', "`$OUT`"),
        ("python train.py --at $(date)", "`$`"),
        ("python train.py --at `date`", "```"),
        ("python train.py data/*.bin", "`*`"),
        ("python train.py --seed {1..3}", "`{1..3}`"),
        ("python train.py ~/data", "`~`"),
        ("python train.py # the good one", "`#`"),
    ],
)
def test_what_needs_a_shell_is_refused(tmp_path: Path, text: str, sign: str) -> None:
    said = refusal(tmp_path, {"jobs/42.yaml": "command: |-\n  " + text + "\n"})
    assert f"found {sign}" in said
    assert "job script" in said


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("python train.py --out '$OUT'", "$OUT"),
        ("python train.py a\\;b", "a;b"),
        ("python train.py model.layers=[1,2]", "model.layers=[1,2]"),
        ("python train.py ~trainer.logger", "~trainer.logger"),
        ("python train.py 'x={a:1,b:2}'", "x={a:1,b:2}"),
        ("python train.py --tag=a#1", "--tag=a#1"),
    ],
)
def test_what_a_shell_takes_literally_is_kept(tmp_path: Path, text: str, last: str) -> None:
    # bash agrees
    shown = subprocess.run(
        ["bash", "-c", text.replace("python train.py", r"printf %s\\n")], capture_output=True, check=True
    )
    assert shown.stdout.decode().splitlines()[-1] == last
    assert command_of(run_of(tmp_path, {"jobs/42.yaml": "command: |-\n  " + text + "\n"})).argv[-1] == last


def test_several_lines_and_shell_strings_are_refused(tmp_path: Path) -> None:
    assert "several lines" in refusal(tmp_path, {"jobs/42.yaml": "command: |\n  module load x\n  python train.py\n"})
    assert "bash -c" in refusal(tmp_path, {"jobs/42.yaml": "command: [bash, -c, 'python train.py']\n"})


def test_a_registry_entry_gives_its_command_unredacted(tmp_path: Path) -> None:
    token = "hf_" + "a1" * 17
    entry = f'runs:\n  "41": {{command: python other.py}}\n  "42": {{command: python train.py --token {token}}}\n'
    command = command_of(run_of(tmp_path, {"docs/ops/runs.yaml": entry}))
    assert command.argv == ("python", "train.py", "--token", token)
    assert command.source == "docs/ops/runs.yaml:3"


def test_a_command_that_was_redacted_in_the_file_is_refused(tmp_path: Path) -> None:
    assert "secret" in refusal(tmp_path, {"jobs/42.yaml": "command: python train.py --token '[REDACTED:hf-token]'\n"})


def test_wandb_metadata_gives_program_and_arguments(tmp_path: Path) -> None:
    metadata = {"program": "/elsewhere/src/train.py", "codePath": "src/train.py", "args": ["--lr", "3e-4"]}
    files = {"wandb/run-20260101_000000-42/files/wandb-metadata.json": json.dumps(metadata), "src/train.py": ""}
    command = command_of(run_of(tmp_path, files))
    assert command.argv == ("python", "src/train.py", "--lr", "3e-4")
    assert command.source.endswith("wandb-metadata.json")


def test_wandb_metadata_of_a_module(tmp_path: Path) -> None:
    metadata = {"program": "-m pkg.train", "args": ["--lr", "3e-4"]}
    files = {"wandb/run-20260101_000000-42/files/wandb-metadata.json": json.dumps(metadata)}
    assert command_of(run_of(tmp_path, files)).argv == ("python", "-m", "pkg.train", "--lr", "3e-4")


def test_hydra_gives_script_config_and_overrides(tmp_path: Path) -> None:
    files = {
        "outputs/42/.hydra/hydra.yaml": "hydra: {job: {name: train, config_name: big}}\n",
        "outputs/42/.hydra/overrides.yaml": "- optim.lr=3e-4\n- model=small\n",
        "conf/big.yaml": "optim: {lr: 1}\n",
        "conf/model/small.yaml": "width: 8\n",
    }
    command = command_of(run_of(tmp_path, files))
    assert command.argv == ("python", "train.py", "--config-name", "big", "optim.lr=3e-4", "model=small")
    assert {"conf/big.yaml", "conf/model/small.yaml"} <= set(command.files)


def test_a_command_that_only_a_log_prints_is_never_started(tmp_path: Path) -> None:
    said = refusal(tmp_path, {"logs/run-42.log": "+ python train.py --lr 1\n" + LOG})
    assert "log" in said
    assert "after --" in said


def test_a_given_command_is_taken_as_it_is() -> None:
    assert given(["python", "train.py", "--x=$HOME;*"]) == Command(("python", "train.py", "--x=$HOME;*"))


@pytest.mark.parametrize("argv", [[], [""], ["python", "a\0b"], ["sbatch", "jobs/42.sh"]])
def test_a_given_command_that_cannot_be_started_here_is_refused(argv: list[str]) -> None:
    with pytest.raises(DebuggerError, match="after --"):
        given(argv)
