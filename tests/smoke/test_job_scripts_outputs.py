"""An output in a job script is found whatever stands before it on the line."""

from __future__ import annotations

from experiment_debugger.smoke.shell_text import shell_words


def test_a_hash_within_a_word_is_no_comment() -> None:
    assert shell_words("python train.py --tag exp#3 --out /scratch/run42 # the big disk") == [
        "python", "train.py", "--tag", "exp#3", "--out", "/scratch/run42",
    ]  # fmt: skip
