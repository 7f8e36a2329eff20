"""Absolute paths: what would leave the worktree is led back into it.

--out /home/ann/project/outputs/42     the worktree's outputs/42 (also in job scripts, configs and code of the worktree)
output_dir: /scratch/ann/run42         redirected/run42 in the worktree, and a note that says so
cd /scratch/ann/elsewhere              DebuggerError: cannot be redirected

Originals are never written: a file is rewritten only below the worktree, and a link is replaced first.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiment_debugger.errors import DebuggerError
from experiment_debugger.smoke.mentions import COMMAND, ENVIRONMENT, Mention, Texts, file_mentions
from experiment_debugger.smoke.order import Command
from experiment_debugger.smoke.output_folders import inside
from experiment_debugger.smoke.shell_text import assignments, changes_of_folder, expanded, is_own_place, is_shell

ADVICE = "run it where it is with --in-place, or give a command with another output folder after --"
_HEAD = re.compile(r"(?:\$\{[^}]*\}|\$\w+|\$\([^)]*\))?[^$`*?{]*")
_KEPT_BY_SCHEDULERS = ("SLURM_SUBMIT_DIR", "PBS_O_WORKDIR", "SGE_O_WORKDIR", "LSB_SUBCWD")
_OMEGACONF = re.compile(r"\$\{oc\.env:(\w+)(?:,([^}]*))?\}")


@dataclass(slots=True)
class Redirected:
    """The command as it runs in the worktree, and sentences on what was replaced."""

    argv: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def redirect(
    root: Path, folder: Path, command: Command, texts: Texts, artifacts: Sequence[Path], env: Mapping[str, str]
) -> Redirected:
    """Lead absolute paths of the command, its files and its environment into the worktree `folder`."""
    work = _Redirection(root, folder, command, texts, _outside(root, artifacts), {**env, **command.environment})
    work.check_code()
    argv = work.words()
    environment = {name: work.setting(name, value) for name, value in command.environment.items()}
    for name, text in texts.files.items():
        work.rewrite(name, text)
    for name, text in texts.code.items():
        if name not in texts.files:
            work.rewrite_code(name, text)
    return Redirected(argv, environment | work.inherited(env), list(dict.fromkeys(work.notes)))


def _outside(root: Path, artifacts: Sequence[Path]) -> tuple[str, ...]:
    """Folders outside the project in which artifacts of the run lie, the deepest first."""
    real = {os.path.dirname(path) for artifact in artifacts for path in (str(artifact), os.path.realpath(artifact))}
    return tuple(sorted((path for path in real if inside(root, path) is None and path.count(os.sep) > 1), reverse=True))


class _Redirection:
    def __init__(
        self,
        root: Path,
        folder: Path,
        command: Command,
        texts: Texts,
        outside: tuple[str, ...],
        variables: Mapping[str, str],
    ) -> None:
        self.root, self.folder, self.command, self.texts, self.outside = root, folder, command, texts, outside
        self.variables = {**variables, "PWD": str(root), **dict.fromkeys(_KEPT_BY_SCHEDULERS, str(root))}
        self.variables |= {str(number): word for number, word in enumerate(command.argv[1:])}
        self.home = variables.get("HOME") or os.path.expanduser("~")
        self.root_text = _spelled({str(root), os.path.realpath(root)}, self.home)
        self.scratch: dict[str, str] = {}
        self.notes: list[str] = []
        values = (one.value for one in texts.mentions if one.is_input)
        self.inputs = {value for value in values if os.path.isabs(value) and os.path.exists(value)}

    def words(self) -> tuple[str, ...]:
        """The arguments, with outputs led into the worktree."""
        argv = list(self.command.argv)
        for mention in self.texts.mentions:
            if mention.at == COMMAND and mention.is_output and (place := self.leaves(mention.value, self.variables)):
                new = self.redirected(mention, place)
                argv = [_with_value(word, mention.value, new) for word in argv]
        return tuple(self.in_worktree(word) for word in argv)

    def setting(self, name: str, value: str) -> str:
        """The value of a variable, led into the worktree."""
        mention = Mention(name.lower(), value, ENVIRONMENT)
        place = self.leaves(value, self.variables) if mention.is_output else None
        return self.redirected(mention, place) if place else self.in_worktree(value)

    def inherited(self, env: Mapping[str, str]) -> dict[str, str]:
        """Variables of this process that would lead outputs, or imports of the project's code, elsewhere."""
        names = [name for name in env if name == "PYTHONPATH" or Mention(name.lower(), "", ENVIRONMENT).is_output]
        led = {name: self.setting(name, env[name]) for name in names if name not in self.command.environment}
        led = {name: value for name, value in led.items() if value != env[name]}
        scripts = "\n".join(self.texts.files.values())
        return led | {name: str(self.folder) for name in _KEPT_BY_SCHEDULERS if name in scripts}

    def rewrite(self, name: str, text: str) -> None:
        """Rewrite a job script or config of the worktree where it names places outside."""
        new = text
        variables = self.variables
        if is_shell(name, text):
            variables = {**variables, **assignments(text)}
            new = self.with_own_folder(name, text, variables)
        for mention in file_mentions(self.folder / name, name, text):
            if mention.is_output and (place := self.leaves(mention.value, variables)):
                new = self.replaced(mention, place, new)
        for place in self.outside:
            new = self.with_scratch(new, _spelled({place}, self.home), self.scratch_of(place) if place in new else "")
        self.write(name, text, self.in_worktree(new))

    def rewrite_code(self, name: str, text: str) -> None:
        """Python code that names the project by its absolute path would import and write there."""
        new = self.in_worktree(text)
        if new != text:
            self.write(name, text, new)
            self.notes.append(f"{name}: {self.root} -> the copy")

    def with_own_folder(self, name: str, text: str, variables: Mapping[str, str]) -> str:
        """A script's `cd` into the project goes to the worktree; one that leaves the project is refused."""
        for target in changes_of_folder(text):
            place = expanded(target, variables, str(self.root))
            place = os.path.expanduser(place) if place and place.startswith("~") else place
            below = inside(self.root, place) if place else None
            if below is None and not (place and _is_temporary(place)):
                raise _refusal(f"{name} changes to the folder {target}, outside the project")
            if below is not None and target.startswith("$") and not is_own_place(target):
                text = re.sub(rf"{re.escape(target)}(?!\w)", str(self.folder / below).replace("\\", "\\\\"), text)
        return text

    def check_code(self) -> None:
        """Refuse code in which a folder of the run's artifacts outside the project stands as a literal."""
        given = {mention.key for mention in self.texts.mentions if mention.at == COMMAND}
        for name, text in self.texts.code.items():
            if name in self.texts.files:
                continue
            for number, line in enumerate(text.split("\n"), 1):
                place = next((one for one in self.outside if one in line), None)
                options = {option.replace("-", "_") for option in re.findall(r"--([\w-]+)", line)}
                if place and not options & given and not line.lstrip().startswith("#"):
                    raise _refusal(f"{name}:{number} names {place}, where the run's artifacts lie")

    def leaves(self, value: str, variables: Mapping[str, str]) -> str | None:
        """The place outside the worktree to which an output would go; None when it stays inside."""
        head = _OMEGACONF.sub(lambda found: variables.get(found[1]) or found[2] or "/", self.head(value))
        place = expanded(head, variables, str(self.root))
        if place is None:
            return self.of_reference(head, variables)
        place = os.path.expanduser(place).removeprefix("file://")
        if "://" in place:
            return place
        if not place or place.startswith("/dev/") or inside(self.root, place) is not None:
            return None
        return os.path.normpath(os.path.join(self.root, place))

    def of_reference(self, head: str, variables: Mapping[str, str]) -> str | None:
        """Where `${paths.base}/run` goes: by the setting of a config that it names; an unknown one leads outside."""
        reference = re.match(r"\$\{([\w.]+)\}(.*)", head, re.DOTALL)
        key = reference[1].lower() if reference else ""
        values = [one.value for one in self.texts.mentions if one.key == key or one.key.endswith("." + key)]
        if reference and values and f"${{{reference[1]}}}" not in values[0]:
            return self.leaves(values[0] + reference[2], variables)
        return None if re.match(r"\$\{(?:hydra|now):", head) or is_own_place(head) or head[:1] != "$" else head

    def head(self, value: str) -> str:
        """The leading part that is known before the program runs; a name that is only begun does not count."""
        found = _HEAD.match(value)
        head = found[0] if found else ""
        rest = value[len(head) :]
        return head if not rest or head.endswith("/") or not head.count("/") else head.rpartition("/")[0]

    def replaced(self, mention: Mention, place: str, text: str) -> str:
        """The text of a file with one output led into the worktree."""
        head = self.head(mention.value).rstrip("/")
        new = self.redirected(mention, place)
        pattern = re.compile(rf"(?<![\w./~-]){re.escape(head)}(?={re.escape(mention.value[len(head) :])})(?![\w.-])")
        result = self.with_scratch(text, pattern, new)
        if not head or result == text:
            raise _refusal(f"{mention.at}: {mention.key} {mention.value} lies outside the project")
        return result

    def with_scratch(self, text: str, pattern: re.Pattern[str], new: str) -> str:
        """The text with a place outside replaced, except where it names an input that is there."""

        def one(found: re.Match[str]) -> str:
            rest = re.match(r"[^\s\"'=,;:)}\]]*", text[found.end() :])
            return found[0] if found[0] + (rest[0] if rest else "") in self.inputs else new

        return pattern.sub(one, text)

    def redirected(self, mention: Mention, place: str) -> str:
        self.notes.append(f"{mention.key} {mention.value} -> scratch copy")
        return self.scratch_of(place)

    def scratch_of(self, place: str) -> str:
        """A folder of the same last name in the worktree, the same one for the same place."""
        if place not in self.scratch:
            name = re.sub(r"[^\w.-]", "", os.path.basename(place.rstrip("/"))) or "output"
            taken = set(self.scratch.values())
            names = [name, *(f"{name}-{number}" for number in range(2, len(taken) + 3))]
            (self.folder / "redirected").mkdir(exist_ok=True)
            self.scratch[place] = next(
                path for one in names if (path := str(self.folder / "redirected" / one)) not in taken
            )
        return self.scratch[place]

    def in_worktree(self, text: str) -> str:
        return self.root_text.sub(
            lambda found: str(self.folder).replace(" ", "\\ " if "\\ " in found[0] else " "), text
        )

    def write(self, name: str, old: str, new: str) -> None:
        """Replace a file of the worktree; nothing is written through a link."""
        if new == old:
            return
        path = self.folder / name
        if not Path(os.path.realpath(path.parent)).is_relative_to(os.path.realpath(self.folder)):
            raise _refusal(f"{name} names places outside the copy and lies outside it")
        mode = path.stat().st_mode
        path.unlink()
        path.write_bytes(new.encode("utf-8", "surrogateescape"))
        path.chmod(mode)


def _spelled(places: set[str], home: str) -> re.Pattern[str]:
    """The places as text: absolute, with escaped spaces, and below the home folder as `~` or `$HOME`."""
    spellings = {spelling for place in places for spelling in _spellings(place, home)}
    body = "|".join(re.escape(spelling) for spelling in sorted(spellings, key=len, reverse=True))
    return re.compile(rf"(?<![\w.~$}}-])(?:{body})(?![\w.-])")


def _spellings(place: str, home: str) -> Iterator[str]:
    below = [home_text + place[len(home) :] for home_text in ("~", "$HOME", "${HOME}") if place.startswith(home + "/")]
    for spelling in (place, *below):
        yield spelling
        yield spelling.replace(" ", "\\ ")


def _is_temporary(place: str) -> bool:
    real = os.path.realpath(place)
    return real.startswith((os.path.realpath(tempfile.gettempdir()) + os.sep, "/dev/shm/"))  # noqa: S108


def _with_value(word: str, value: str, new: str) -> str:
    if word == value:
        return new
    return word[: -len(value)] + new if word.endswith("=" + value) else word


def _refusal(what: str) -> DebuggerError:
    return DebuggerError(f"expected outputs that stay in a copy of the project; {what}: cannot be redirected; {ADVICE}")
