"""Absolute paths: what would leave the worktree is led back into it.

--out /home/ann/project/outputs/42     the worktree's outputs/42 (also in scripts, configs and code of the worktree)
output_dir: /scratch/ann/run42         redirected/run42 in the worktree, and a note that says so
cd /scratch/ann/elsewhere              DebuggerError: cannot be redirected

Originals are never written: a file is rewritten only below the worktree, and a link is replaced first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiment_debugger.errors import DebuggerError
from experiment_debugger.smoke.destinations import Destinations, is_temporary, known_head, spelled
from experiment_debugger.smoke.mentions import COMMAND, ENVIRONMENT, Mention, Texts, file_mentions
from experiment_debugger.smoke.order import Command, said
from experiment_debugger.smoke.output_folders import folders_outside, inside
from experiment_debugger.smoke.shell_text import assignments, changes_of_folder, expanded, is_own_place, is_shell

ADVICE = "run it where it is with --in-place, or give a command with another output folder after --"
SUBMIT_FOLDERS = ("SLURM_SUBMIT_DIR", "PBS_O_WORKDIR", "SGE_O_WORKDIR", "LSB_SUBCWD")
"""Set by schedulers alone; a script that goes there means the project."""


@dataclass(slots=True)
class Redirected:
    """The command as it runs in the worktree, and sentences on what was replaced."""

    argv: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def redirect(
    root: Path, folder: Path, command: Command, texts: Texts, artifacts: Sequence[Path], env: Mapping[str, str]
) -> Redirected:
    """Lead absolute paths of the command, its files and its environment into the worktree `folder`.

    Raises `DebuggerError` where an output cannot be kept from the place of the run's artifacts.
    """
    work = _Redirection(root, folder, command, texts, folders_outside(root, artifacts), {**env, **command.environment})
    work.check_code()
    argv = work.words()
    environment = {name: work.setting(name, value) for name, value in command.environment.items()}
    for name, text in texts.files.items():
        work.rewrite(name, text)
    work.rewrite_others()
    return Redirected(argv, environment | work.inherited(env), list(dict.fromkeys(work.notes)))


class _Redirection:
    def __init__(
        self,
        root: Path,
        folder: Path,
        command: Command,
        texts: Texts,
        outside: set[str],
        variables: Mapping[str, str],
    ) -> None:
        self.root, self.folder, self.command, self.texts, self.outside = root, folder, command, texts, outside
        self.variables = {**variables, "PWD": str(root), **dict.fromkeys(SUBMIT_FOLDERS, str(root))}
        self.variables |= {str(number): word for number, word in enumerate(command.argv[1:])}
        self.home = variables.get("HOME") or os.path.expanduser("~")
        self.destinations = Destinations(root, texts)
        self.root_text = spelled({str(root), os.path.realpath(root)}, self.home)
        self.scratch: dict[str, str] = {}
        self.notes: list[str] = []
        values = (one.value for one in texts.mentions if one.is_input)
        self.inputs = {value for value in values if os.path.isabs(value) and os.path.exists(value)}

    def words(self) -> tuple[str, ...]:
        """The arguments, with outputs led into the worktree."""
        argv = list(self.command.argv)
        for mention in self.texts.mentions:
            if mention.at == COMMAND and (place := self.leaves(mention, self.variables)):
                argv = [_with_value(word, mention.value, self.noted(mention, place)) for word in argv]
        return tuple(self.in_worktree(word) for word in argv)

    def setting(self, name: str, value: str) -> str:
        """The value of a variable, led into the worktree."""
        mention = Mention(name.lower(), value, ENVIRONMENT)
        place = self.leaves(mention, self.variables)
        return self.noted(mention, place) if place else self.in_worktree(value)

    def inherited(self, env: Mapping[str, str]) -> dict[str, str]:
        """Variables of this process that would lead outputs, or imports of the project's code, elsewhere."""
        names = [name for name in env if name == "PYTHONPATH" or Mention(name.lower(), "", ENVIRONMENT).is_output]
        led = {name: self.setting(name, env[name]) for name in names if name not in self.command.environment}
        led = {name: value for name, value in led.items() if value != env[name]}
        scripts = "\n".join(self.texts.files.values())
        return led | {name: str(self.folder) for name in SUBMIT_FOLDERS if name in scripts}

    def rewrite(self, name: str, text: str) -> None:
        """Rewrite a job script or config of the command where it names places outside."""
        new, variables = text, self.variables
        if is_shell(name, text):
            variables = {**variables, **assignments(text)}
            new = self.with_own_folder(name, text, variables)
        for mention in file_mentions(self.folder / name, name, text):
            if place := self.leaves(mention, variables):
                new = self.replaced(mention, place, new)
        self.write(name, text, self.in_worktree(self.without_evidence(new)))

    def rewrite_others(self) -> None:
        """Files that the command does not name may be included or imported: the project's own path and evidence."""
        changed = []
        for name, text in {**self.texts.others, **self.texts.code}.items():
            if name not in self.texts.files:
                new = self.in_worktree(text if name in self.texts.code else self.without_evidence(text))
                changed += self.write(name, text, new)
        if changed:
            beyond = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
            self.notes.append(f"{', '.join(map(said, changed[:3]))}{beyond}: paths of the project -> the copy")

    def with_own_folder(self, name: str, text: str, variables: Mapping[str, str]) -> str:
        """A script's `cd` into the project goes to the worktree; one that leaves the project is refused."""
        for target in changes_of_folder(text):
            place = expanded(target, variables, str(self.root))
            place = os.path.expanduser(place) if place and place.startswith("~") else place
            below = inside(self.root, place) if place else None
            if below is None and not (place and is_temporary(place)):
                raise _refusal(f"{name} changes to the folder {said(target)}, outside the project")
            if below is not None and target.startswith("$") and not is_own_place(target):
                text = re.sub(rf"{re.escape(target)}(?!\w)", str(self.folder / below).replace("\\", "\\\\"), text)
        return text

    def check_code(self) -> None:
        """Refuse code that names a folder outside the project in which artifacts of the run lie."""
        given = {mention.key for mention in self.texts.mentions if mention.at == COMMAND}
        evidence = spelled(self.outside, self.home)
        for name, text in self.texts.code.items():
            if name in self.texts.files or not evidence.search(text):
                continue
            for number, line in enumerate(text.split("\n"), 1):
                options = {option.replace("-", "_") for option in re.findall(r"--([\w-]+)", line)}
                if evidence.search(line.partition("#")[0]) and not options & given:
                    raise _refusal(f"{name}:{number} names a folder in which the run's artifacts lie")

    def leaves(self, mention: Mention, variables: Mapping[str, str]) -> str | None:
        """The place outside the project to which an output goes; None for one that stays, and for other settings."""
        return self.destinations.outside(mention.value, variables) if mention.is_output else None

    def replaced(self, mention: Mention, place: str, text: str) -> str:
        """The text of a file with one output led into the worktree."""
        head = known_head(mention.value).rstrip("/")
        rest = re.escape(mention.value[len(head) :])
        pattern = re.compile(rf"(?<![\w./~-]){re.escape(head)}(?={rest})(?![\w.-])")
        result = self.with_scratch(text, pattern, place) if head else text
        if result == text:
            raise _refusal(f"{said(mention.at)}: {said(mention.key)} {said(mention.value)} lies outside the project")
        self.noted(mention, place)
        return result

    def without_evidence(self, text: str) -> str:
        """The text with the folders of the run's artifacts outside the project led into the worktree."""
        for place in sorted(self.outside, reverse=True):
            text = self.with_scratch(text, spelled({place}, self.home), place)
        return text

    def with_scratch(self, text: str, pattern: re.Pattern[str], place: str) -> str:
        """The text with a place outside replaced, except where it names an input that is there."""

        def replacement(found: re.Match[str]) -> str:
            rest = re.match(r"[^\s\"'=,;:)}\]]*", text[found.end() :])
            return found[0] if found[0] + (rest[0] if rest else "") in self.inputs else self.scratch_of(place)

        return pattern.sub(replacement, text)

    def noted(self, mention: Mention, place: str) -> str:
        """The folder that stands for the place, after telling the user."""
        self.notes.append(f"{said(mention.key)} {said(mention.value)} -> scratch copy")
        return self.scratch_of(place)

    def scratch_of(self, place: str) -> str:
        """A folder of the same last name in the worktree, the same one for the same place."""
        if place not in self.scratch:
            name = re.sub(r"[^\w.-]", "", os.path.basename(place.rstrip("/"))) or "output"
            taken = set(self.scratch.values())
            (self.folder / "redirected").mkdir(exist_ok=True)
            names = (name, *(f"{name}-{number}" for number in range(2, len(taken) + 3)))
            paths = (str(self.folder / "redirected" / one) for one in names)
            self.scratch[place] = next(path for path in paths if path not in taken)
        return self.scratch[place]

    def in_worktree(self, text: str) -> str:
        """The text with the project's own path as the worktree's."""
        folder = str(self.folder)
        return self.root_text.sub(lambda found: folder.replace(" ", "\\ ") if "\\ " in found[0] else folder, text)

    def write(self, name: str, old: str, new: str) -> list[str]:
        """Replace a file of the worktree, never through a link; its name when it changed."""
        if new == old:
            return []
        path = self.folder / name
        if not Path(os.path.realpath(path.parent)).is_relative_to(os.path.realpath(self.folder)):
            raise _refusal(f"{name} names places outside the copy and lies outside it")
        mode = path.stat().st_mode
        path.unlink()
        path.write_bytes(new.encode("utf-8", "surrogateescape"))
        path.chmod(mode)
        return [name]


def _with_value(word: str, value: str, new: str) -> str:
    if word == value:
        return new
    return word[: -len(value)] + new if word.endswith("=" + value) else word


def _refusal(what: str) -> DebuggerError:
    return DebuggerError(f"expected outputs that stay in a copy of the project; {what}: cannot be redirected; {ADVICE}")
