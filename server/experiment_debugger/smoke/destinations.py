"""Where an output goes, seen from the project.

outputs/42, ${hydra:runtime.output_dir}/x     None: below the working folder
/scratch/ann/run42                            /scratch/ann/run42
$SCRATCH/run42, ${oc.env:SCRATCH}/run42       /scratch/ann/run42, from the environment
${paths.base}/run42                           by what a config says of paths.base
s3://bucket/run42                             itself
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from experiment_debugger.smoke.mentions import Texts
from experiment_debugger.smoke.output_folders import inside
from experiment_debugger.smoke.shell_text import expanded, is_own_place

_HEAD = re.compile(r"(?:\$\{[^}]*\}|\$\w+|\$\([^)]*\))?[^$`*?{]*")
_ENVIRONMENT = re.compile(r"\$\{oc\.env:(\w+)(?:,([^}]*))?\}")
_REFERENCE = re.compile(r"\$\{([\w.]+)\}(.*)", re.DOTALL)
_BELOW_WORKING_FOLDER = re.compile(r"\$\{(?:hydra|now):")


class Destinations:
    """Answers for one project; `texts` are where `${...}` of a config is looked up."""

    def __init__(self, root: Path, texts: Texts) -> None:
        self._root, self._texts = root, texts

    def outside(self, value: str, variables: Mapping[str, str]) -> str | None:
        """The place outside the project to which an output of this value goes; None when it stays inside."""
        head = _ENVIRONMENT.sub(lambda found: variables.get(found[1]) or found[2] or os.sep, known_head(value))
        place = expanded(head, variables, str(self._root))
        if place is None:
            return self._by_reference(head, variables)
        place = os.path.expanduser(place).removeprefix("file://")
        if "://" in place:
            return place
        if not place or place.startswith("/dev/") or inside(self._root, place) is not None:
            return None
        return os.path.normpath(os.path.join(self._root, place))

    def _by_reference(self, head: str, variables: Mapping[str, str]) -> str | None:
        """By the setting that `${paths.base}/run` names; what nobody knows is taken for outside."""
        if reference := _REFERENCE.match(head):
            key = reference[1].lower()
            said = [one.value for one in self._texts.mentions if one.key == key or one.key.endswith("." + key)]
            if said and f"${{{reference[1]}}}" not in said[0]:
                return self.outside(said[0] + reference[2], variables)
        is_inside = _BELOW_WORKING_FOLDER.match(head) or is_own_place(head) or not head.startswith("$")
        return None if is_inside else head


def known_head(value: str) -> str:
    """The leading part that is known before the program runs; a name that is only begun does not count.

    `/scratch/ann/run_${seed}` is known as `/scratch/ann`.
    """
    found = _HEAD.match(value)
    head = found[0] if found else ""
    complete = len(head) == len(value) or head.endswith("/") or "/" not in head
    return head if complete else head.rpartition("/")[0]


def spelled(places: set[str], home: str) -> re.Pattern[str]:
    """The places as text: absolute, with escaped spaces, and below the home folder as `~` or `$HOME`."""
    spellings = {spelling for place in places for spelling in _spellings(place, home)}
    body = "|".join(re.escape(spelling) for spelling in sorted(spellings, key=len, reverse=True))
    return re.compile(rf"(?<![\w.~$}}-])(?:{body or '(?!)'})(?![\w.-])")


def _spellings(place: str, home: str) -> Iterator[str]:
    below = [start + place[len(home) :] for start in ("~", "$HOME", "${HOME}") if place.startswith(home + os.sep)]
    for spelling in (place, *below):
        yield spelling
        yield spelling.replace(" ", "\\ ")


def is_temporary(place: str) -> bool:
    """Whether a folder is one for temporary files, where no evidence lies."""
    real = os.path.realpath(place)
    return real.startswith((os.path.realpath(tempfile.gettempdir()) + os.sep, "/dev/shm/"))  # noqa: S108
