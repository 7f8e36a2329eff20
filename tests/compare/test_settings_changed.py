"""Which settings differ between two commits of a real repository: configs, command line, code."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import write
from smoke_runs import commit, git

from experiment_debugger.compare.code_settings import code_settings
from experiment_debugger.compare.command_settings import command_settings
from experiment_debugger.compare.settings_changed import ExperimentChanges, experiment_changes

CONFIG = "model: {width: 256}\noptimizer:\n  lr: 1.0e-4  # small\nlog_every: 10\nbetas: [0.9, 0.99]\namp: true\n"
JOB = "python train.py --config configs/42.yaml"


def compare(
    root: Path,
    before: dict[str, str],
    after: dict[str, str | None],
    commands: tuple[str, str] = (JOB, JOB),
) -> ExperimentChanges:
    """The changes between two commits with these files; None deletes one."""
    git(root, "init", "--quiet")
    for name, text in before.items():
        write(root / name, text)
    first = commit(root, "before")
    for name, new in after.items():
        (root / name).unlink() if new is None else write(root / name, new)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "after")
    texts = [*commands, before.get("configs/42.yaml", "")]
    second = git(root, "rev-parse", "HEAD")
    return experiment_changes(root, first, second, configs=("configs/42.yaml",), texts=texts, commands=commands)


def said(changes: ExperimentChanges) -> list[str]:
    return [f"{one.group}: {one.key} {one.before} -> {one.after} ({one.path})" for one in changes.settings]


def test_a_changed_value_is_told_by_its_dotted_key(tmp_path: Path) -> None:
    after = CONFIG.replace("256", "512").replace("1.0e-4", "3e-4").replace("log_every: 10", "log_every: 5")
    changes = compare(tmp_path, {"configs/42.yaml": CONFIG}, {"configs/42.yaml": after})
    assert said(changes) == [
        "model: model.width 256 -> 512 (configs/42.yaml)",
        "training: optimizer.lr 0.0001 -> 0.0003 (configs/42.yaml)",
        "neutral: log_every 10 -> 5 (configs/42.yaml)",
    ]
    assert changes.configs == ("configs/42.yaml",)


def test_another_spelling_is_no_change(tmp_path: Path) -> None:
    after = 'amp: True\nbetas:\n- 0.90\n- 0.99\nlog_every: "10"\noptimizer: {lr: 0.0001}\nmodel: {"width": 256.0}\n'
    changes = compare(tmp_path, {"configs/42.yaml": CONFIG}, {"configs/42.yaml": after})
    assert said(changes) == []
    assert changes.configs == ("configs/42.yaml",)


def test_a_config_that_is_gone_has_lost_all_its_settings(tmp_path: Path) -> None:
    changes = compare(tmp_path, {"configs/42.yaml": "model: {width: 1}\n", "x": ""}, {"configs/42.yaml": None})
    assert said(changes) == ["model: model.width 1 -> None (configs/42.yaml)"]


def test_a_group_that_the_config_chooses_is_the_runs_and_another_runs_config_is_not(tmp_path: Path) -> None:
    files = {
        "configs/42.yaml": "defaults:\n- model: vit\n- data: c10\n",
        "configs/model/vit.yaml": "depth: 12\n",
        "configs/model/mlp.yaml": "depth: 2\n",
        "configs/7.yaml": "lr: 1\n",
        "package-lock.json": "{}",
    }
    after = {name: text.replace("2", "3").replace("1", "9").replace("{}", '{"a": 1}') for name, text in files.items()}
    changes = compare(tmp_path, files, {name: text for name, text in after.items() if name != "configs/42.yaml"})
    assert said(changes) == ["model: depth 12 -> 93 (configs/model/vit.yaml)"]
    assert changes.other_configs == ("configs/7.yaml", "configs/model/mlp.yaml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "line 2: "),
        ("a: &a [1]\n" + "b: *a\n" * 300, "aliases"),
        ("\0", "no UTF-8 text"),
        ("a: \udc80", "no UTF-8 text"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, text: str, words: str) -> None:
    changed = tmp_path / "configs/42.yaml"
    git(tmp_path, "init", "--quiet")
    write(changed, CONFIG)
    first = commit(tmp_path, "before")
    changed.write_bytes(text.encode("utf-8", "surrogateescape"))
    second = commit(tmp_path, "after")
    changes = experiment_changes(tmp_path, first, second, configs=("configs/42.yaml",), texts=(), commands=(None, None))
    assert len(changes.unread) == 1
    assert changes.unread[0].startswith("configs/42.yaml: ")
    assert words in changes.unread[0]
    assert not changes.settings


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (JOB, f"{JOB} --lr 1e-4", ["training: lr None -> 0.0001 (command line)"]),
        (f"{JOB} --lr=1e-4", f"{JOB} --lr 0.0001", []),
        (f"{JOB} --fp16", f"{JOB} --no-fp16", ["training: fp16 true -> false (command line)"]),
        ("python t.py optim.lr=1", "python t.py optim.lr=2", ["training: optim.lr 1 -> 2 (command line)"]),
        ("python t.py +model.w=1", "python t.py ~model.w", ["model: model.w 1 -> removed (command line)"]),
        ("SEED=1 python t.py", "SEED=2 python t.py", ["training: env.SEED 1 -> 2 (command line)"]),
        ("python t.py", "python other.py", ["unknown: program python t.py -> python other.py (command line)"]),
        ("/usr/bin/python3.10 t.py", "python t.py", []),
        ("torchrun --nproc_per_node 4 t.py -b 3", "torchrun --nproc_per_node=8 t.py -b 3",
         ["training: torchrun.nproc_per_node 4 -> 8 (command line)"]),
    ],
)  # fmt: skip
def test_command_lines_are_compared_by_their_settings(
    tmp_path: Path, before: str, after: str, changes: list[str]
) -> None:
    assert said(compare(tmp_path, {"x": ""}, {}, (before, after))) == changes


def test_a_command_whose_quotes_do_not_close_is_told(tmp_path: Path) -> None:
    assert compare(tmp_path, {"x": ""}, {}, (JOB, "python 'a")).unread == ("command line: No closing quotation",)


def test_launchers_modules_and_negative_values() -> None:
    settings = command_settings("A=1 accelerate launch --num_processes 2 -m pkg.train --seed -1 --out x.py lr=3 -v")
    assert settings == {
        "env.A": "1",
        "accelerate.num_processes": "2",
        "seed": "-1",
        "out": "x.py",
        "lr": "3",
        "v": "true",
        "program": "accelerate launch pkg.train",
    }
    assert command_settings("python -m pkg.train --seed 3")["program"] == "python pkg.train"


CODE = """\
import argparse
from dataclasses import dataclass
LEARNING_RATE = 1e-3
parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
config = {"model": {"width": 3}, "name": "x"}

@dataclass
class Options:
    epochs: int = 3

def train(model, seed=1):
    loss = 0.0
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.1)
    for step in range(10):
        index = step
"""


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("default=8", "default=4", ["training: batch_size 8 -> 4 (train.py)"]),
        ("LEARNING_RATE = 1e-3", "LEARNING_RATE = 2e-3", ["training: LEARNING_RATE 0.001 -> 0.002 (train.py)"]),
        ("nn.CrossEntropyLoss", "nn.MSELoss", ["objective: criterion nn.CrossEntropyLoss -> nn.MSELoss (train.py)"]),
        ("weight_decay=0.1", "weight_decay=0", ["training: AdamW.weight_decay 0.1 -> 0 (train.py)"]),
        ('"width": 3', '"width": 4', ["model: config.model.width 3 -> 4 (train.py)"]),
        ("epochs: int = 3", "epochs: int = 4", ["training: epochs 3 -> 4 (train.py)"]),
        ("seed=1", "seed=2", ["training: seed 1 -> 2 (train.py)"]),
        ("index = step", "index = step % 3", []),
        ("loss = 0.0", "loss = None", []),
        ("def train", "def train_all", []),
        ("for step in range(10)", "for step in range(len(samples))", []),
    ],
)
def test_settings_that_stand_in_code_are_compared(tmp_path: Path, before: str, after: str, changes: list[str]) -> None:
    found = compare(tmp_path, {"train.py": CODE}, {"train.py": CODE.replace(before, after)})
    assert said(found) == changes
    assert found.code == ("train.py",)


def test_code_that_did_not_parse_is_told(tmp_path: Path) -> None:
    found = compare(tmp_path, {"train.py": "def f(:\n"}, {"train.py": CODE})
    assert found.unread[0].startswith("train.py: does not parse: ")


def test_values_that_are_computed_are_no_settings() -> None:
    assert code_settings("lr = base * 2\nnames = {'a': f(1), **more}\nf(lr=x, **kw)\n") == {}


def test_anchors_of_anchors_are_told_and_cost_nothing(tmp_path: Path) -> None:
    """A hundred aliases that stand for more values than there is time."""
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20))
    before, after = (f"a0: &a0 [{value}]\n{levels}lr: {value}\n" for value in (1, 2))
    changes = compare(tmp_path, {"configs/42.yaml": before}, {"configs/42.yaml": after})
    assert changes.unread == ("configs/42.yaml: YAML aliases that stand for more than 200000 values",)


def test_another_config_on_the_command_line_is_compared_by_what_is_in_it(tmp_path: Path) -> None:
    files = {"configs/a.yaml": "model: {width: 1}\nlog_every: 2\n", "configs/b.yaml": "model: {width: 9}\n"}
    commands = ("python t.py --config configs/a.yaml", "python t.py --config configs/b.yaml")
    changes = compare(tmp_path, files, {}, commands)
    assert said(changes)[0] == "model: model.width 1 -> 9 (configs/a.yaml -> configs/b.yaml)"


def test_configs_are_followed_through_those_that_name_them(tmp_path: Path) -> None:
    files = {
        "configs/42.yaml": "_base_: common.yaml\n",
        "configs/common.yaml": "defaults:\n- base_model\n",
        "configs/base_model.yaml": "model: {width: 1}\n",
        "configs/other.yaml": "lr: 1\n",
    }
    changes = compare(
        tmp_path, files, {"configs/base_model.yaml": "model: {width: 2}\n", "configs/other.yaml": "lr: 2\n"}
    )
    assert said(changes) == ["model: model.width 1 -> 2 (configs/base_model.yaml)"]
    assert changes.other_configs == ("configs/other.yaml",)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (f"val_ids: {list(range(3000))}\n", f"val_ids: {list(range(2999))}\n", "split: val_ids "),
        ("seed: 1234567890123456\n", "seed: 1234567890123999\n", "training: seed 1234567890123456 -> 1234567890123999"),
        ("seed: 3\n", "seed: 3.0\n", None),
    ],
)
def test_long_values_and_long_numbers_are_compared_whole(
    tmp_path: Path, before: str, after: str, change: str | None
) -> None:
    changes = compare(tmp_path, {"configs/42.yaml": before}, {"configs/42.yaml": after})
    assert [line.startswith(change or "") for line in said(changes)] == ([True] if change else [])


def test_a_config_that_is_a_list_is_not_taken_for_compared(tmp_path: Path) -> None:
    changes = compare(tmp_path, {"configs/42.yaml": "- lr\n"}, {"configs/42.yaml": "- width\n"})
    assert changes.unread == ("configs/42.yaml: no mapping of settings",)


def test_options_with_several_values_and_words_that_begin_with_no() -> None:
    assert command_settings("python t.py --data a --data b --layers 1 2 3 --normalize --no-amp --non-linear") == {
        "data": "a, b",
        "layers": "1 2 3",
        "normalize": "true",
        "amp": "false",
        "non_linear": "true",
        "program": "python t.py",
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("p = softmax(x, dim=0)", "p = softmax(x, dim=-1)"),
        ("loss = step(batch)", "loss = train_step(batch)"),
        ("model = Net()", "model = torch.compile(Net())"),
    ],
)
def test_a_repair_is_no_change_of_a_setting(tmp_path: Path, before: str, after: str) -> None:
    assert said(compare(tmp_path, {"train.py": f"{before}\n"}, {"train.py": f"{after}\n"})) == []


def test_another_loss_function_is_a_change(tmp_path: Path) -> None:
    files = ("loss = F.cross_entropy(x, y)\n", "loss = F.mse_loss(x, y)\n")
    changes = compare(tmp_path, {"train.py": files[0]}, {"train.py": files[1]})
    assert said(changes) == ["objective: loss F.cross_entropy -> F.mse_loss (train.py)"]
