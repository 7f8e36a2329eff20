"""Inputs that git does not hold: linked where they are read, copied where they might be written, missing by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from repositories import ARTIFACTS, commit, contents, repository, workspace
from samples import write

from experiment_debugger.smoke import inputs as inputs_module


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "argv",
    [
        ("--data", "data/train.csv"),
        ("--data=./data",),
        ("data.path=data/train.csv",),
        ("data/train.csv",),
        ("--files", "x,data/train.csv"),
    ],
)
def test_data_that_the_command_names_is_a_link(root: Path, argv: tuple[str, ...]) -> None:
    made = workspace(root, "python", "train.py", *argv)
    assert made.linked == ("data",)
    assert os.readlink(made.folder / "data") == str(root / "data")
    made.remove()
    assert (root / "data/train.csv").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("configs/a.yaml", "train: {data_path: data/train.csv}\n"),
        ("configs/a.yaml", "files:\n  - data/train.csv\n"),
        ("configs/a.json", '{"root": "data"}'),
        ("configs/a.toml", 'root = "data"\n'),
        ("jobs/42.sh", '#!/bin/bash\npython train.py --root "data" "$@"\n'),
        ("jobs/42.sh", "DATA=$PWD/data\n"),
        ("train.py", 'open("data/train.csv")\n'),
        ("train.py", "x = os.path.join(root, 'data', 'train.csv')\n"),
        ("lib/data.py", 'f"{root}/data/train.csv"\n'),
    ],
)
def test_data_that_files_and_code_name_is_a_link(root: Path, name: str, said: str) -> None:
    commit(root, {name: said})
    made = workspace(root, "python", "train.py", files=(name,) if not name.endswith(".py") else ())
    assert made.linked == ("data",)
    assert (made.missing, made.dirty) == ((), False)
    made.remove()


def test_what_nobody_names_is_not_there(root: Path) -> None:
    commit(root, {"train.py": 'open("data2/x", "data.csv", "my-data/x")\n'})
    write(root / "notes/private.txt", "x\n")
    made = workspace(root)
    assert (made.linked, made.copied) == ((), ())
    assert not (made.folder / "notes").exists()
    made.remove()


def test_an_absolute_path_into_the_project_is_reached_in_the_copy(root: Path) -> None:
    made = workspace(root, str(root / ".venv/bin/python"), "train.py", "--data", str(root / "data"))
    assert made.argv == (str(made.folder / ".venv/bin/python"), "train.py", "--data", str(made.folder / "data"))
    assert made.linked == ("data",)
    made.remove()
    write(root / ".venv/bin/python", "x\n")
    made = workspace(root, str(root / ".venv/bin/python"), "train.py")
    assert made.linked == (".venv",)
    made.remove()


def test_a_virtual_environment_that_a_script_activates_is_a_link(root: Path) -> None:
    write(root / ".venv/pyvenv.cfg", "home = /usr\n")
    commit(root, {"jobs/42.sh": "source .venv/bin/activate\n"})
    made = workspace(root, "bash", "jobs/42.sh", files=("jobs/42.sh",))
    assert made.linked == (".venv",)
    made.remove()


def test_output_folders_are_never_linked_and_stand_empty(root: Path) -> None:
    write(root / "outputs/checkpoints/a.ckpt", "x\n")
    write(root / "outputs/7/last.pt", "x\n")
    commit(root, {"train.py": 'save("outputs/42/last.pt"); log("logs/run.log")\n'})
    made = workspace(root)
    assert (made.linked, made.copied) == ((), ())
    assert (made.folder / "outputs/checkpoints").is_dir()
    assert not os.listdir(made.folder / "outputs/checkpoints")
    assert not os.listdir(made.folder / "logs")
    assert sorted(os.listdir(made.folder / "outputs")) == ["checkpoints"]
    made.remove()


@pytest.mark.parametrize(
    "argv",
    [("--save-dir", "here"), ("out=here/run",), ("--hydra.run.dir=./here/x",), ("trainer.default_root_dir=here",)],
)
def test_a_folder_that_the_command_writes_to_is_no_input(root: Path, argv: tuple[str, ...]) -> None:
    write(root / "here/run/metrics.csv", "x\n")
    write(root / "here/cache.bin", "x\n")
    made = workspace(root, "python", "train.py", *argv, "--init", "here/cache.bin")
    assert not (made.folder / "here").is_symlink()
    assert not (made.folder / "here/run").is_symlink()
    assert text(made.folder / "here/cache.bin") == "x\n"
    made.remove()


def test_a_folder_with_artifacts_of_the_run_is_linked_only_in_parts(root: Path) -> None:
    write(root / "here/data/x.bin", "x\n")
    write(root / "here/42/model.bin", "x\n")
    made = workspace(root, "python", "train.py", "--root", "here", artifacts=(*ARTIFACTS, "here/42/model.bin"))
    assert made.linked == ("here/data",)
    assert not (made.folder / "here/42").exists()
    made.remove()


@pytest.mark.parametrize(
    "argv",
    [
        ("--resume", "outputs/42/last.pt"),
        ("--ckpt=outputs/42/last.pt",),
        ("model.init_from=outputs/42/last.pt",),
        ("outputs/42/last.pt",),
        ("--resume-from-checkpoint", "outputs/42"),
    ],
)
def test_a_checkpoint_in_an_output_folder_is_a_copy(root: Path, argv: tuple[str, ...]) -> None:
    made = workspace(root, "python", "train.py", *argv)
    copy = made.folder / "outputs/42/last.pt"
    assert not copy.is_symlink()
    assert copy.stat().st_ino != (root / "outputs/42/last.pt").stat().st_ino
    copy.write_text("overwritten", encoding="utf-8")
    made.remove()
    assert text(root / "outputs/42/last.pt") == "the outputs/42/last.pt of run 42\n"
    assert made.copied == ("outputs/42" if "from-checkpoint" in argv[0] else "outputs/42/last.pt",)


def test_a_log_that_a_script_appends_to_is_not_copied(root: Path) -> None:
    commit(root, {"jobs/42.sh": "python train.py >> logs/run-42.log\npython train.py | tee -a logs/run-42.log\n"})
    made = workspace(root, "bash", "jobs/42.sh", files=("jobs/42.sh",))
    assert made.copied == ()
    made.remove()


def test_code_gets_copies_of_other_outputs_but_never_finds_the_runs_own(root: Path) -> None:
    write(root / "outputs/teacher.pt", "teacher\n")
    commit(root, {"train.py": 'load("outputs/teacher.pt")\nif exists("outputs/42/last.pt"): resume()\n'})
    made = workspace(root)
    assert made.copied == ("outputs/teacher.pt",)
    made.remove()


def test_what_is_too_large_to_copy_is_missing_with_the_reason(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs_module, "LARGEST_COPY", 3)
    made = workspace(root, "python", "train.py", "--resume", "outputs/42/last.pt")
    assert made.copied == ()
    (missing,) = made.missing
    assert missing.startswith("outputs/42/last.pt (the command): it lies in an output folder")
    made.remove()


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (("--data", "data/gone.csv"), "data/gone.csv"),
        (("--train-file=gone.jsonl",), "gone.jsonl"),
        (("dataset.root=./sets/gone",), "./sets/gone"),
        (("--resume", "/nowhere/last.pt"), "/nowhere/last.pt"),
        (("--vocab-file", "../gone/vocab.txt"), "../gone/vocab.txt"),
        (("gone.py",), "gone.py"),
    ],
)
def test_an_input_that_is_nowhere_is_named(root: Path, argv: tuple[str, ...], name: str) -> None:
    made = workspace(root, "python", "train.py", *argv)
    (missing,) = made.missing
    assert missing == f"{name} (the command): no such file or folder"
    made.remove()


@pytest.mark.parametrize(
    "argv",
    [
        ("--model", "bert-base-uncased"),
        ("--model-name-or-path", "org/model-7b"),
        ("--dataset", "allenai/c4"),
        ("--data", "cifar10"),
        ("--resume", "true"),
        ("--resume", "latest"),
        ("--data", "https://example.com/x.csv"),
        ("--data", "s3://bucket/x"),
        ("--output_dir", "outputs/none/yet"),
        ("--log-file", "logs/none.log"),
        ("--lr", "1e-4"),
        ("--train-file", "data/train-*.csv"),
        ("--label", "a/b c/d"),
    ],
)
def test_what_is_no_path_or_no_input_is_not_missing(root: Path, argv: tuple[str, ...]) -> None:
    made = workspace(root, "python", "train.py", *argv)
    assert made.missing == ()
    made.remove()


def test_missing_inputs_of_configs_say_where(root: Path) -> None:
    commit(root, {"configs/a.yaml": "data: {train_file: data/gone.csv, vocab: '${data.root}/x'}\n"})
    made = workspace(root, files=("configs/a.yaml",))
    assert made.missing == ("data/gone.csv (configs/a.yaml): no such file or folder",)
    made.remove()


def test_relative_paths_of_a_script_start_where_it_went(root: Path) -> None:
    write(root / "exp/data/x.csv", "1\n")
    commit(root, {"jobs/42.sh": "cd exp\npython ../train.py --data data/x.csv --train-file ../data/train.csv\n"})
    made = workspace(root, "bash", "jobs/42.sh", files=("jobs/42.sh",))
    assert made.missing == ()
    assert (made.folder / "exp/data/x.csv").exists()
    assert (made.folder / "data/train.csv").exists()
    made.remove()


def test_what_lies_beside_the_project_lies_beside_the_copy(root: Path) -> None:
    write(root.parent / "shared-data/x.csv", "1\n")
    write(root.parent / "runs/42/last.pt", "evidence\n")
    commit(root, {"train.py": 'open("../shared-data/x.csv"); open("../runs/42/last.pt", "w")\n'})
    before = contents(root.parent)
    made = workspace(root, artifacts=("../runs/42/last.pt",))
    assert (made.folder / "../shared-data/x.csv").exists()
    assert not os.listdir(made.folder / "../runs")
    made.remove()
    assert contents(root.parent) == before


def test_untracked_code_comes_along_and_makes_it_dirty(root: Path) -> None:
    write(root / "helper.py", "x = 1\n")
    write(root / "unused.py", "x = 1\n")
    write(root / "configs/42.yaml", "data: data/train.csv\n")
    commit(root, {"train.py": "import helper\n"})
    made = workspace(root, "python", "train.py", "--config", "configs/42.yaml", files=("configs/42.yaml",))
    assert (made.folder / "helper.py").exists()
    assert not (made.folder / "configs/42.yaml").is_symlink()
    assert not (made.folder / "unused.py").exists()
    assert (made.dirty, made.linked) == (True, ("data",))
    assert "configs/42.yaml is not in the commit: taken as it is now" in made.notes
    made.remove()


def test_compiled_modules_are_links_and_caches_are_not(root: Path) -> None:
    commit(root, {"pkg/__init__.py": "from . import _C\n", "train.py": 'open("pkg")\n'})
    write(root / "pkg/_C.cpython-311-x86_64-linux-gnu.so", "elf\n")
    write(root / "pkg/__pycache__/x.pyc", "x\n")
    made = workspace(root)
    assert made.linked == ("pkg/_C.cpython-311-x86_64-linux-gnu.so",)
    made.remove()


def test_data_below_a_tracked_folder(root: Path) -> None:
    commit(root, {"sets/README": "x\n", "train.py": 'Path("sets") / "cifar"\n'})
    write(root / "sets/cifar/x.bin", "x\n")
    write(root / "sets/cifar/y.bin", "x\n")
    made = workspace(root)
    assert made.linked == ("sets/cifar",)
    made.remove()


def test_a_config_among_the_outputs_is_brought_only_when_the_command_reads_it(root: Path) -> None:
    for name in ("outputs/42/config.yaml", "outputs/42/.hydra/config.yaml"):
        write(root / name, f"out: {root}/outputs/42\n")
    files = ("outputs/42/config.yaml", "outputs/42/.hydra/config.yaml")
    made = workspace(root, "python", "train.py", "--config", files[0], files=files)
    assert (made.copied, made.dirty) == ((files[0],), False)
    assert text(made.folder / files[0]) == f"out: {made.folder}/outputs/42\n"
    assert not (made.folder / files[1]).exists()
    made.remove()


def test_thousands_of_files_below_a_tracked_folder(root: Path) -> None:
    commit(root, {"sets/README": "x\n", "train.py": 'Path("sets")\n' + "".join(f'"word {n}"\n' for n in range(20_000))})
    for number in range(1500):
        (root / "sets" / f"{number}.png").touch()
        (root / f"{number}.tmp").touch()
    made = workspace(root)
    assert len(made.linked) == 1500
    made.remove()


def test_a_value_in_a_sentence_is_one_short_printable_line(root: Path) -> None:
    commit(root, {"configs/a.yaml": 'data_path: "./gone\\e[31m/' + "x" * 300 + '.csv"\n'})
    made = workspace(root, "python", "train.py", files=("configs/a.yaml",))
    made.remove()
    (sentence,) = made.missing
    assert sentence.isprintable()
    assert sentence.startswith("./gone[31m/xxx")
    assert sentence.endswith("x... (configs/a.yaml): no such file or folder")
    assert len(sentence) < 220
