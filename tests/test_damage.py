"""Real runs whose files were damaged: what is readable is used, and the answer says what was not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from samples import Cli, steps, write

RUNS = Path(__file__).parent / "artifacts" / "numbers" / "projects"
EVENTS, RECORDS, TABLE = "nan-late-tensorboard", "nan-early-wandb", "nan-late-lightning"
Damage = Callable[[bytes], bytes]


def cut(share: float) -> Damage:
    return lambda data: data[: int(len(data) * share)]


def flipped(share: float) -> Damage:
    return lambda data: bytes(byte ^ 64 if index == int(len(data) * share) else byte for index, byte in enumerate(data))


def hole(share: float, size: int = 300) -> Damage:
    def damage(data: bytes) -> bytes:
        at = int(len(data) * share)
        return data[:at] + b"\0" * size + data[at + size :]

    return damage


def damaged(folder: Path, name: str, pattern: str, damage: Damage) -> tuple[Path, str, int]:
    """(project, run, true step) of a run with one damaged file."""
    project = folder / "project"
    shutil.copytree(RUNS / name, project)
    (path,) = project.rglob(pattern)
    path.write_bytes(damage(path.read_bytes()))
    truth = json.loads((RUNS / "expected.json").read_text(encoding="utf-8"))[name]
    return project, truth["run_id"], truth["step"]


def answer(cli: Cli, project: Path, run: str) -> dict[str, Any]:
    done = cli("classify-failure", run, "--project", str(project), "--json")
    assert (done.code, done.err) == (0, "")
    found: dict[str, Any] = done.data
    return found


@pytest.mark.parametrize(
    ("name", "pattern", "damage", "told"),
    [
        pytest.param(EVENTS, "events.*", cut(0.9), "cut off", id="event file cut"),
        pytest.param(EVENTS, "events.*", flipped(0.5), "damaged record", id="event file, one byte flipped"),
        pytest.param(EVENTS, "events.*", hole(0.4), "damaged record", id="event file with a hole"),
        pytest.param(RECORDS, "*.wandb", flipped(0.6), "damaged place", id="wandb, one byte flipped"),
    ],
)
def test_the_onset_is_found_in_what_is_left(
    name: str, pattern: str, damage: Damage, told: str, cli: Cli, tmp_path: Path
) -> None:
    project, run, step = damaged(tmp_path, name, pattern, damage)
    found = answer(cli, project, run)
    assert (found["modes"][0]["mode"], found["modes"][0]["onset"]["step"]) == ("nan-gradient", step)
    assert told in " ".join(found["coverage"]["unreadable"])


def test_a_wandb_file_cut_in_a_record_is_one_of_a_killed_run(cli: Cli, tmp_path: Path) -> None:
    project, run, step = damaged(tmp_path, RECORDS, "*.wandb", cut(0.7))
    found = answer(cli, project, run)
    assert (found["modes"][0]["mode"], found["modes"][0]["onset"]["step"]) == ("nan-gradient", step)
    context = cli("read-run-metrics", run, "--project", str(project), "--json").data
    assert {series["key"] for series in context["series"]} >= {"train/loss"}


def with_another_header(data: bytes) -> bytes:
    """As a loop appends that logs one metric more after a restart."""
    lines = data.split(b"\n")
    middle = len(lines) // 4
    rest = [line + b",0.5" if line else line for line in lines[middle:]]
    return b"\n".join([*lines[:middle], lines[0] + b",val_extra", *rest])


def test_a_header_that_changes_midway(cli: Cli, tmp_path: Path) -> None:
    project, run, step = damaged(tmp_path, TABLE, "metrics.csv", with_another_header)
    found = answer(cli, project, run)
    assert found["modes"][0]["mode"] == "nan-gradient"
    assert 0 <= found["modes"][0]["onset"]["step"] - step < 3  # it logs every third step
    assert "the header changes at line" in " ".join(found["coverage"]["unreadable"])


@pytest.mark.parametrize("word", ["NaN", '"NaN"', "null"])
def test_json_lines_with_words_for_nan_and_steps_that_stand_twice(word: str, cli: Cli, tmp_path: Path) -> None:
    rows = [f'{{"step": {step}, "loss": {2.0 / (1 + step / 50):.4f}}}' for step in range(0, 400, 2)]
    rows += [*rows[-20:], "{torn", *(f'{{"step": {step}, "loss": {word}}}' for step in range(400, 500, 2))]
    path = tmp_path / "runs" / "run-42" / "metrics.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    found = answer(cli, tmp_path, "42")
    assert "1 rows are no valid JSON" in " ".join(found["coverage"]["unreadable"])
    if word == "null":  # a logger that drops the value says nothing about it
        assert found["verdict"] != "failure"
    else:
        assert (found["modes"][0]["mode"], found["modes"][0]["onset"]["step"]) == ("nan-gradient", 400)


def test_a_packed_source_of_numbers_that_cannot_be_unpacked(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "run-42.log", "".join(steps(range(50))) + "Training finished.\n")
    (tmp_path / "logs" / "run-42").mkdir()
    (tmp_path / "logs" / "run-42" / "trainer_state.json.gz").write_bytes(b"\x1f\x8b\x08\0\0\0\0\0garbage")
    found = answer(cli, tmp_path, "42")
    assert "trainer_state.json.gz" in " ".join(found["coverage"]["unreadable"])


def test_a_name_of_a_metric_is_untrusted_too(cli: Cli, tmp_path: Path) -> None:
    name = "\x1b[31m\u202eloss hf_" + "A" * 12 + "\u200b" + "B" * 12
    rows = [f"{step},{'nan' if step > 60 else round(2.0 / (1 + step), 4)}" for step in range(100)]
    write(tmp_path / "runs" / "run-42" / "metrics.csv", f"step,{name}\n" + "\n".join(rows) + "\n")
    for verb in ("classify-failure", "read-run-metrics"):
        text = cli(verb, "42", "--project", str(tmp_path), "--json").out
        assert "loss" in text
        assert not {"\x1b", "\u202e", "\u200b"} & set(text)
        assert "AAAABBBB" not in text
