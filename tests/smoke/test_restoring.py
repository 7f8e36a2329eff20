"""A checkpoint to start from is a copy, wherever it lies."""

from __future__ import annotations

from pathlib import Path

import pytest
from repositories import commit, repository, workspace
from samples import write

from experiment_debugger.errors import DebuggerError
from experiment_debugger.smoke import restoring
from experiment_debugger.smoke.restoring import place_checkpoint


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = repository(tmp_path / "project")
    commit(root, {"train.py": 'open("data/train.csv")\n'})
    return root


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("outputs/42/last.pt", "outputs/42/last.pt"),
        ("data/last.pt", "resumed/last.pt"),  # data is a link
        ("../elsewhere/step-600/model.bin", "resumed/model.bin"),
    ],
)
def test_it_is_a_copy(root: Path, name: str, place: str) -> None:
    source = (root / name).resolve()
    write(source, "weights")
    made = workspace(root)
    copy = place_checkpoint(made, root, source)
    assert copy == made.folder / place
    copy.write_text("overwritten", encoding="utf-8")
    made.remove()
    assert source.read_text(encoding="utf-8") == "weights"


def test_a_folder_is_copied_whole(root: Path) -> None:
    write(root / "outputs/42/step-600/model.bin", "weights")
    made = workspace(root)
    copy = place_checkpoint(made, root, root / "outputs/42/step-600")
    assert (copy / "model.bin").read_text(encoding="utf-8") == "weights"
    made.remove()


def test_what_is_too_large_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restoring, "LARGEST_COPY", 3)
    made = workspace(root)
    with pytest.raises(DebuggerError, match=r"last\.pt"):
        place_checkpoint(made, root, root / "outputs/42/last.pt")
    made.remove()


def test_in_place_it_is_the_checkpoint_itself(root: Path) -> None:
    source = root / "outputs/42/last.pt"
    assert place_checkpoint(workspace(root, in_place=True), root, source) == source
