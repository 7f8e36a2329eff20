"""An output in a job script is led into the copy whatever stands before it on the line."""

from __future__ import annotations

from pathlib import Path

import pytest
from repositories import commit, repository, workspace


@pytest.mark.parametrize("before", ["--tag exp#3", "--tag '#3'", "--tag '# 3'"])
def test_a_hash_within_a_word_is_no_comment(tmp_path: Path, before: str) -> None:
    root = repository(tmp_path / "project")
    line = f"python train.py {before} --out /far/away/run42 # --out /the/big/disk"
    commit(root, {"jobs/42.sh": f"{line}\n"})
    made = workspace(root, "bash", "jobs/42.sh", files=("jobs/42.sh",))
    said = (made.folder / "jobs/42.sh").read_text(encoding="utf-8")
    made.remove()
    assert f"{before} --out {made.folder}/redirected/run42" in said
    assert not any("/the/big/disk" in note for note in made.notes)
