"""Which settings differ between the failing run and its fix, and what each decides: configs, command line, code.

optimizer.lr     0.1 -> 0.001    training    configs/42.yaml
model.width      256 -> 512      model       command line
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from experiment_debugger import git
from experiment_debugger.compare.code_settings import code_settings
from experiment_debugger.compare.command_settings import command_settings
from experiment_debugger.compare.config_files import SUFFIXES, differences, is_config, of_the_run, settings_at
from experiment_debugger.compare.experiment_keys import Group, group_of

CODE = (".py", ".sh", ".sbatch", ".slurm", ".cu", ".cuh", ".c", ".cc", ".cpp", ".h", ".pyx", ".ipynb", ".jl", ".rs")
_NO_INPUT = re.compile(
    rf"(?:{'|'.join(map(re.escape, CODE))}|\.(?:md|rst|png|jpe?g|svg|pdf|bib|tex|gitignore|gitattributes)|LICENSE)$"
    r"|^(?:docs|memory|\.agent|\.experiment-debugger|\.github)/"
)
"""Files that no run takes its data or packages from."""
LARGEST_CODE = 1 << 20  # bytes
ON_COMMAND_LINE = "command line"
_ORDER: tuple[Group, ...] = ("model", "data", "split", "objective", "metric", "training", "unknown", "neutral")


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One setting that differs: its dotted key, its values (None: not set), what it decides and where it stands."""

    key: str
    before: str | None
    after: str | None
    group: Group
    path: str


@dataclass(frozen=True, slots=True)
class ExperimentChanges:
    """What differs between two commits: settings, defining ones first, the configs compared, others, code, the rest."""

    settings: tuple[SettingChange, ...]
    configs: tuple[str, ...]
    other_configs: tuple[str, ...]
    code: tuple[str, ...]
    other_files: tuple[str, ...]
    unread: tuple[str, ...]


def experiment_changes(
    root: Path,
    before: str,
    after: str,
    *,
    configs: Collection[str],
    texts: Iterable[str],
    commands: tuple[str | None, str | None],
) -> ExperimentChanges:
    """Compare two commits. `configs` are known to be the run's, `texts` may name more, `commands` are the two lines."""
    changed = git.paths(root, "diff", "--name-only", "--no-renames", "-z", before, after)
    mine = of_the_run(root, before, configs, said := [*texts]) | of_the_run(root, after, configs, said)
    candidates = [path for path in changed if path.endswith(SUFFIXES) and (is_config(path) or path in configs)]
    own = [path for path in candidates if path in mine]
    others = [path for path in candidates if path not in mine]
    unread: list[str] = []
    settings = [
        *_in_configs(root, before, after, own, unread),
        *_on_command_line(root, before, after, commands, unread),
        *_in_code(root, before, after, [path for path in changed if path.endswith(".py")], unread),
    ]
    compared = [*own, *(path for path in configs if path not in own and _is_tracked(root, after, path))]
    return ExperimentChanges(
        settings=tuple(sorted(settings, key=lambda one: (_ORDER.index(one.group), one.path, one.key))),
        configs=tuple(compared),
        other_configs=tuple(others),
        code=tuple(path for path in changed if path.endswith(CODE)),
        other_files=tuple(path for path in changed if path not in candidates and not _NO_INPUT.search(path)),
        unread=tuple(unread),
    )


def _in_configs(root: Path, before: str, after: str, paths: list[str], unread: list[str]) -> Iterator[SettingChange]:
    for path in paths:
        sides = [settings_at(root, commit, path) for commit in (before, after)]
        problem = next((side for side in sides if isinstance(side, str)), None)
        if problem is not None:
            unread.append(f"{path}: {problem}")
            continue
        old, new = (side if isinstance(side, dict) else {} for side in sides)
        yield from (SettingChange(key, was, now, group_of(key), path) for key, was, now in differences(old, new))


def _on_command_line(
    root: Path, before: str, after: str, commands: tuple[str | None, str | None], unread: list[str]
) -> Iterator[SettingChange]:
    if commands[0] is None or commands[1] is None:
        return
    try:
        old, new = (command_settings(command) for command in commands if command is not None)
    except ValueError as problem:
        unread.append(f"{ON_COMMAND_LINE}: {problem}")
        return
    for key, was, now in differences(old, new):
        sides = [settings_at(root, commit, name) if name else None for commit, name in ((before, was), (after, now))]
        if all(isinstance(side, dict) for side in sides):  # another config file: what matters is what is in it
            first, second = (side for side in sides if isinstance(side, dict))
            place = f"{was} -> {now}"
            yield from (SettingChange(name, a, b, group_of(name), place) for name, a, b in differences(first, second))
        else:
            yield SettingChange(key, was, now, group_of(key), ON_COMMAND_LINE)


def _in_code(root: Path, before: str, after: str, paths: list[str], unread: list[str]) -> Iterator[SettingChange]:
    """Only what decides something: most literals of a program are no settings."""
    for path in paths:
        texts = [_code_at(root, commit, path) for commit in (before, after)]
        if None in texts:  # a new or a removed module has nothing to be compared with
            continue
        try:
            old, new = (code_settings(text) for text in texts if text is not None)
        except ValueError as problem:
            unread.append(f"{path}: {problem}")
            continue
        for key in dict.fromkeys([*old, *new]):
            group = group_of(key)
            if old.get(key) != new.get(key) and group not in {"unknown", "neutral"} and key in old and key in new:
                yield SettingChange(key, _joined(old[key]), _joined(new[key]), group, path)


def _joined(values: tuple[str, ...]) -> str:
    return ", ".join(dict.fromkeys(values))


def _code_at(root: Path, commit: str, path: str) -> str | None:
    size = git.output(root, "cat-file", "-s", f"{commit}:{path}")
    if size is None or int(size) > LARGEST_CODE:
        return None
    return git.output(root, "cat-file", "blob", f"{commit}:{path}")


def _is_tracked(root: Path, commit: str, path: str) -> bool:
    return git.output(root, "cat-file", "-e", f"{commit}:{path}") is not None
