"""What a smoke test is told to do: the command, where it comes from, and within which bounds.

jobs/42.sh                          Command(("bash", "jobs/42.sh"), source="jobs/42.sh")
jobs/42.yaml: command: python ...   Command(("python", "train.py", "--lr", "3e-4"), source="jobs/42.yaml:4")
-- python train.py --steps 20       Command(("python", "train.py", "--steps", "20"), source="given")
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from experiment_debugger.redaction import readable, redacted_words

GIVEN = "given"
LONGEST_SAID = 160  # characters of a value in a sentence


@dataclass(frozen=True, slots=True)
class Command:
    """A command as an argument list, never a shell string.

    `source` is where it stands (`path:line`) or GIVEN; `environment` are the settings written in front of it or beside
    it; `files` are the job script and configs it names, relative to the project, in which inputs may be named, too.
    """

    argv: tuple[str, ...]
    source: str = GIVEN
    environment: dict[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    @property
    def spoken(self) -> str:
        """The command as a person may read and paste it, without secrets."""
        return shlex.join(redacted_words(self.argv))

    @property
    def is_script(self) -> bool:
        """Whether a job script is run as a script."""
        return len(self.argv) > 1 and self.argv[0] == "bash" and self.argv[1] in self.files


@dataclass(frozen=True, slots=True)
class Bounds:
    """`seconds` of wall clock, `steps` optimizer steps (None: to the end), bytes of memory and kept output."""

    seconds: float = 45.0
    steps: int | None = None
    memory_bytes: int = 4 << 30
    output_bytes: int = 64 << 20


def said(value: str) -> str:
    """A value of a config or script as it may stand in a sentence: one line of printable characters, not too long."""
    line = " ".join(readable(value).split())
    return line if len(line) <= LONGEST_SAID else line[: LONGEST_SAID - 3] + "..."
