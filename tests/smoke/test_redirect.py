"""Absolute paths: outputs that would leave the copy are led back into it, or the test is refused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from repositories import ARTIFACTS, commit, contents, repository, workspace
from samples import write

from experiment_debugger.errors import DebuggerError
from experiment_debugger.smoke.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "home" / "project")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A folder outside the project and outside the folder for temporary files, as far as anyone can tell."""
    folder = tmp_path / "scratch"
    write(folder / "run42" / "last.pt", "evidence\n")
    return folder


@pytest.fixture(autouse=True)
def temporary_files_are_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def script(root: Path, text: str, **settings: str) -> Workspace:
    commit(root, {"jobs/42.sh": text})
    return workspace(root, "bash", "jobs/42.sh", files=("jobs/42.sh",), env=settings)


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("option", ["--out", "--output-dir", "--ckpt_dir", "--logdir", "--default_root_dir"])
def test_outputs_outside_go_to_a_folder_of_the_same_name(root: Path, scratch: Path, option: str) -> None:
    made = workspace(root, "python", "train.py", option, f"{scratch}/run42", f"{option}={scratch}/other/")
    first, second = str(made.folder / "redirected/run42"), str(made.folder / "redirected/other")
    assert made.argv[3:] == (first, f"{option}={second}")
    assert [note for note in made.notes if note.endswith(f"{scratch}/run42 -> scratch copy")]
    made.remove()


@pytest.mark.parametrize("value", ["s3://bucket/run42", "gs://b/run42", "../../elsewhere/run42", "~/run42"])
def test_outputs_on_another_machine_or_far_away_are_led_back(root: Path, value: str) -> None:
    made = workspace(root, "python", "train.py", f"output_dir={value}")
    assert made.argv[2] == f"output_dir={made.folder}/redirected/run42"
    made.remove()


@pytest.mark.parametrize("value", ["outputs/42", "./x", "/dev/null", "../runs", "outputs/$SLURM_JOB_ID"])
def test_outputs_inside_stay(root: Path, value: str) -> None:
    made = workspace(root, "python", "train.py", "--out", value)
    assert made.argv[3] == value
    made.remove()


def test_inputs_outside_stay(root: Path, scratch: Path) -> None:
    argv = ("python", "train.py", "--resume", f"{scratch}/run42/last.pt", "--data", str(scratch))
    made = workspace(root, *argv)
    assert made.argv == argv
    made.remove()


def test_two_outputs_of_one_name_stay_two(root: Path, scratch: Path) -> None:
    made = workspace(root, "python", "train.py", "--out", f"{scratch}/a/x", "--logdir", f"{scratch}/b/x")
    assert len({*made.argv[3::2]}) == 2
    made.remove()


def test_the_runs_own_checkpoint_is_untouched_by_its_absolute_path(root: Path) -> None:
    own = root / "outputs/42/last.pt"
    commit(root, {"save.py": f"open({str(own)!r}, 'w').write('overwritten')\nopen('outputs/42/last.pt', 'w')\n"})
    commit(root, {"jobs/42.sh": f"cd {root}\nmkdir -p outputs/42\npython3 save.py\necho x > {root}/logs/run-42.log\n"})
    before = contents(root)
    made = workspace(root, "bash", "jobs/42.sh", files=("jobs/42.sh",))
    subprocess.run(made.argv, cwd=made.folder, check=True, env={**os.environ, **made.environment})
    assert text(made.folder / "logs/run-42.log") == "x\n"
    made.remove()
    assert contents(root) == before


@pytest.mark.parametrize("spelling", ["{root}", '"{root}"', "~/project", "$HOME/project", "${{HOME}}/project"])
def test_a_script_that_goes_to_the_project_goes_to_the_copy(root: Path, spelling: str) -> None:
    made = script(root, f"cd {spelling.format(root=root)} && pwd > where\n")
    subprocess.run(made.argv, cwd=made.folder, check=True, env={**os.environ, **made.environment})
    assert os.path.realpath(text(made.folder / "where").strip()) == os.path.realpath(made.folder)
    made.remove()
    assert not (root / "where").exists()


@pytest.mark.parametrize(
    "line",
    [
        'cd "$(dirname "$0")/.."',
        "cd $(pwd)",
        "cd `dirname $0`/..",
        "cd $(cd $(dirname $0)/.. && pwd)",
        'HERE=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")"); cd $HERE/..',
        "cd $SLURM_SUBMIT_DIR",
        "cd $WORK/project",
        "cd ${REPO:-$WORK/project}",
        'ROOT="$(cd "$(dirname "$0")/.." && pwd)"; cd "$ROOT"',
        "cd $(mktemp -d); cd -",
    ],
)
def test_a_script_that_finds_its_own_folder_finds_the_copy(root: Path, line: str) -> None:
    made = script(root, f"{line}\npwd > where\n", WORK=str(root.parent))
    env = {**os.environ, "WORK": str(root.parent), **made.environment}
    subprocess.run(made.argv, cwd=made.folder, check=True, env=env, stdout=subprocess.DEVNULL)
    assert os.path.realpath(text(made.folder / "where").strip()) == os.path.realpath(made.folder)
    made.remove()


@pytest.mark.parametrize("line", ["cd /scratch/me/run42", "cd $NOWHERE", "cd ~", "pushd $(date +%F)"])
def test_a_script_that_leaves_the_project_is_refused(root: Path, line: str) -> None:
    with pytest.raises(DebuggerError, match=r"changes to the folder .*--in-place"):
        script(root, f"{line}\npython train.py\n")
    assert not list((root / ".git/worktrees").glob("*")) if (root / ".git/worktrees").exists() else True


def test_outputs_that_a_script_names_are_led_back(root: Path, scratch: Path) -> None:
    lines = (
        f"OUT={scratch}/run42\n"
        'mkdir -p "$OUT" $SCRATCH/$USER/x\n'
        'python3 -c \'import sys; open(sys.argv[2] + "/last.pt", "w")\' --out $OUT\n'
        "python3 -c 0 --ckpt-dir $SCRATCH/$USER/x\n"
        f"echo x | tee {scratch}/run42.log > /dev/null\n"
    )
    env = {"SCRATCH": str(scratch), "USER": "ann"}
    before = contents(scratch)
    made = script(root, lines, **env)
    subprocess.run(made.argv, cwd=made.folder, check=True, env={**os.environ, **env, **made.environment})
    made_there = contents(made.folder / "redirected")
    made.remove()
    assert contents(scratch) == before
    assert {"run42/last.pt", "run42.log", "scratch/ann/x"} <= set(made_there)


@pytest.mark.parametrize(
    ("name", "said", "becomes"),
    [
        ("a.yaml", "trainer:\n  output_dir: {scratch}/run42  # here\n", "output_dir: {copy}/redirected/run42  # here"),
        (
            "a.yaml",
            "run: {{out: '{scratch}/run42', data: {scratch}}}\n",
            "out: '{copy}/redirected/run42', data: {scratch}",
        ),
        ("a.yaml", "save_dir: {scratch}/run_${{seed}}\n", "save_dir: {copy}/redirected/scratch/run_${{seed}}"),
        ("a.yaml", "base: {scratch}\nlog_dir: ${{base}}/logs\n", "base: {scratch}\nlog_dir: {copy}/redirected/logs"),
        ("a.yaml", "log_dir: ${{oc.env:SCRATCH}}/logs\n", "log_dir: {copy}/redirected/logs"),
        ("a.yaml", "hydra:\n  run:\n    dir: {scratch}/${{now:%Y}}\n", "dir: {copy}/redirected/scratch/${{now:%Y}}"),
        ("a.json", '{{"save_path": "{scratch}/run42/x.pt"}}', '{{"save_path": "{copy}/redirected/x.pt"}}'),
        ("a.toml", 'log_dir = "{scratch}/run42"\n', 'log_dir = "{copy}/redirected/run42"'),
        ("a.yaml", "out: {root}/outputs/42\n", "out: {copy}/outputs/42"),
    ],
)
def test_outputs_that_a_config_names_are_led_back(
    root: Path, scratch: Path, name: str, said: str, becomes: str
) -> None:
    name = f"configs/{name}"
    commit(root, {name: said.format(scratch=scratch, root=root)})
    before = contents(root)
    made = workspace(root, files=(name,), env={"SCRATCH": str(scratch)})
    assert becomes.format(scratch=scratch, copy=made.folder) in text(made.folder / name)
    made.remove()
    assert contents(root) == before


@pytest.mark.parametrize(
    "said",
    ["dir: ${hydra:runtime.output_dir}\nout: ${hydra:runtime.cwd}/x\n", "out: outputs/${now:%Y}\n", "out: runs\n"],
)
def test_a_config_that_stays_inside_is_as_it_was(root: Path, said: str) -> None:
    commit(root, {"configs/a.yaml": said})
    made = workspace(root, files=("configs/a.yaml",))
    assert text(made.folder / "configs/a.yaml") == said
    made.remove()


def test_a_config_reads_its_checkpoint_where_it_writes(root: Path, scratch: Path) -> None:
    said = f"out: {scratch}/run42\nresume: {scratch}/run42/last.pt\n"
    commit(root, {"configs/a.yaml": said})
    made = workspace(root, files=("configs/a.yaml",), artifacts=(*ARTIFACTS, str(scratch / "run42/last.pt")))
    assert text(made.folder / "configs/a.yaml") == (
        f"out: {made.folder}/redirected/run42\nresume: {scratch}/run42/last.pt\n"
    )
    made.remove()


def test_a_folder_of_the_runs_artifacts_is_led_back_under_any_key(root: Path, scratch: Path) -> None:
    commit(root, {"configs/a.yaml": f"somewhere: {scratch}/run42/sub\n"})
    made = workspace(root, files=("configs/a.yaml",), artifacts=(str(scratch / "run42/last.pt"),))
    assert text(made.folder / "configs/a.yaml") == f"somewhere: {made.folder}/redirected/run42/sub\n"
    made.remove()


def test_code_that_writes_to_the_runs_artifacts_outside_is_refused(root: Path, scratch: Path) -> None:
    commit(root, {"train.py": f"# {scratch}/run42\nsave('{scratch}/run42/last.pt')\n"})
    with pytest.raises(DebuggerError, match=r"train.py:2 names .*cannot be redirected"):
        workspace(root, artifacts=(str(scratch / "run42/last.pt"),))
    workspace(root).remove()


def test_a_default_in_code_does_not_matter_when_the_command_gives_another(root: Path, scratch: Path) -> None:
    commit(root, {"train.py": f"add_argument('--out-dir', default='{scratch}/run42')\n"})
    own = (str(scratch / "run42/last.pt"),)
    with pytest.raises(DebuggerError, match=r"train\.py:1"):
        workspace(root, artifacts=own)
    made = workspace(root, "python", "train.py", "--out-dir", f"{scratch}/run42", artifacts=own)
    assert made.argv[3] == str(made.folder / "redirected/run42")
    made.remove()


def test_code_imports_from_the_copy(root: Path) -> None:
    commit(root, {"train.py": f"sys.path.insert(0, '{root}/src')\nopen('{root}-other/x')\n"})
    made = workspace(root)
    assert text(made.folder / "train.py") == f"sys.path.insert(0, '{made.folder}/src')\nopen('{root}-other/x')\n"
    assert "train.py: paths of the project -> the copy" in made.notes
    made.remove()


def test_a_config_that_is_a_tracked_link_is_not_written_through(root: Path, scratch: Path, tmp_path: Path) -> None:
    target = tmp_path / "team.yaml"
    write(target, f"out: {scratch}/x\n")
    (root / "team.yaml").symlink_to(target)
    commit(root, {})
    subprocess.run(["git", "-C", str(root), "add", "-f", "team.yaml"], check=True)
    commit(root, {})
    made = workspace(root, files=("team.yaml",))
    assert text(made.folder / "team.yaml") == f"out: {made.folder}/redirected/x\n"
    made.remove()
    assert text(target) == f"out: {scratch}/x\n"


def test_environment_that_leads_outputs_and_imports_elsewhere(root: Path, scratch: Path) -> None:
    env = {"OUTPUT_DIR": f"{scratch}/run42", "PYTHONPATH": f"{root}/src:/opt/lib", "DATA_DIR": str(scratch)}
    given = {"SAVE_DIR": str(root / "outputs/42"), "LOG_DIR": f"{scratch}/logs", "DATA": "data/train.csv"}
    made = workspace(root, environment=given, env=env)
    copy = made.folder
    assert made.environment["OUTPUT_DIR"] == f"{copy}/redirected/run42"
    assert made.environment["PYTHONPATH"] == f"{copy}/src:/opt/lib"
    assert made.environment["SAVE_DIR"] == f"{copy}/outputs/42"
    assert made.environment["LOG_DIR"] == f"{copy}/redirected/logs"
    assert "DATA_DIR" not in made.environment
    assert made.environment["WANDB_DIR"] == made.environment["PWD"] == str(copy)
    assert made.environment["MLFLOW_TRACKING_URI"] == (copy / "mlruns").as_uri()
    assert made.linked == ("data",)
    made.remove()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("__editable__.project-0.1.pth", "{root}/src\n"),
        ("__editable___project_0_1_finder.py", "MAPPING = {{'pkg': '{root}/src/pkg'}}\n"),
        ("project.egg-link", "{root}/src\n.\n"),
    ],
)
def test_an_editable_install_of_the_project_imports_the_copy(root: Path, name: str, said: str) -> None:
    site = root / ".venv/lib/python3.11/site-packages"
    write(site / name, said.format(root=root))
    write(site / "other.pth", "/opt/elsewhere\n")
    made = workspace(root, ".venv/bin/python", "train.py", env={"PYTHONPATH": "/opt/lib"})
    assert made.environment["PYTHONPATH"] == f"{made.folder}/src:/opt/lib"
    made.remove()


def test_configs_that_others_include_lead_to_the_copy(root: Path, scratch: Path) -> None:
    said = {"conf/paths/a.yaml": f"root: {root}\nlogs: {scratch}/run42\n", "scripts/env.sh": f"X={root}/x\n"}
    commit(root, {**said, "conf/other.toml": "x = 1\n"})
    made = workspace(root, artifacts=(str(scratch / "run42/last.pt"),))
    copy = made.folder
    assert text(copy / "conf/paths/a.yaml") == f"root: {copy}\nlogs: {copy}/redirected/run42\n"
    assert text(copy / "scripts/env.sh") == f"X={copy}/x\n"
    assert text(copy / "conf/other.toml") == "x = 1\n"
    made.remove()


def test_untracked_code_is_led_to_the_copy_too(root: Path) -> None:
    write(root / "helper.py", f"OUT = '{root}/outputs'\n")
    commit(root, {"train.py": "import helper\n"})
    for uncommitted in (True, False):
        made = workspace(root, at=None, uncommitted=uncommitted)
        assert text(made.folder / "helper.py") == f"OUT = '{made.folder}/outputs'\n"
        made.remove()


def test_evidence_below_the_home_folder_is_known_by_its_short_name(root: Path) -> None:
    write(root.parent / "runs42/x/last.pt", "evidence\n")
    commit(root, {"configs/a.yaml": "somewhere: ~/runs42/x\n"})
    made = workspace(root, files=("configs/a.yaml",), artifacts=(str(root.parent / "runs42/x/last.pt"),))
    assert text(made.folder / "configs/a.yaml") == f"somewhere: {made.folder}/redirected/x\n"
    made.remove()
    commit(root, {"train.py": 'save("~/runs42/x/last.pt")\n'})
    with pytest.raises(DebuggerError, match=r"train\.py:1"):
        workspace(root, artifacts=(str(root.parent / "runs42/x/last.pt"),))


def test_a_log_in_a_folder_of_everything_makes_it_no_folder_of_the_run(root: Path) -> None:
    write(root.parent / "run.log", "evidence\n")
    said = f"data_dir: {root.parent}/sets\n"
    commit(root, {"configs/a.yaml": said, "train.py": f"open('{root.parent}/sets/x')\n"})
    made = workspace(root, files=("configs/a.yaml",), artifacts=("../run.log", str(root.parent / "run.log")))
    assert text(made.folder / "configs/a.yaml") == said
    made.remove()
