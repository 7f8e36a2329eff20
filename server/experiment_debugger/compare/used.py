"""What one run used, as far as it can be told: settings, data, command, commit, environment, checkpoint.

What the log says was used beats what a file says; of two files that give a setting the first counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from experiment_debugger.compare.command_settings import command_settings
from experiment_debugger.compare.config_files import plain
from experiment_debugger.compare.experiment_keys import group_of
from experiment_debugger.compare.packages import packages_of
from experiment_debugger.compare.recorded import recorded_by
from experiment_debugger.context import gather
from experiment_debugger.diagnose import Examination
from experiment_debugger.models import Said

_OF_DATA = frozenset({"data", "split"})
_SEED = "seed"
_LOADED = re.compile(
    r"(?i)\b(?:resum|load|restor|initiali[sz])\w*\b[^\n]{0,80}?[\s'\"=:(]"
    r"(?P<path>[\w./~=+@-]+\.(?:pt|pth|ckpt|bin|safetensors|npz|h5|pkl)|[\w./~=+@-]*checkpoint[-_]\d+)"
)
_RESUMED = re.compile(r"(?i)\bresum(?:e|ed|ing)\b[^\n]{0,60}\b(?:from|at|checkpoint|step|epoch)\b")
HEAD = 400
"""Lines at the beginning of a log in which a checkpoint is said to be loaded."""


@dataclass(frozen=True, slots=True)
class Used:
    """What a run used: by section and key a value and the place that says it (`path:line` or a path)."""

    run_id: str
    commit: str | None
    sections: dict[str, dict[str, UsedValue]]
    resumed: bool = False

    @property
    def seed(self) -> str | None:
        """The seed of the run, where exactly one is known."""
        values = {value.text for key, value in self._settings() if _is_seed(key)}
        return values.pop() if len(values) == 1 else None

    def same_but_seed(self, other: Used) -> bool:
        """Whether nothing that decides something differs between two runs, the seed aside."""
        return self.deciding == other.deciding and self.commit == other.commit

    @property
    def deciding(self) -> frozenset[tuple[str, str]]:
        """The settings that decide something, the seed aside."""
        settings = self._settings()
        return frozenset((key, one.alike) for key, one in settings if not _is_seed(key) and group_of(key) != "neutral")

    def _settings(self) -> Iterator[tuple[str, UsedValue]]:
        for section in ("config", "command", "data"):
            yield from self.sections[section].items()


@dataclass(frozen=True, slots=True)
class UsedValue:
    """One value and where it stands; `alike` is the text without the run's own name, by which runs are compared."""

    text: str
    at: str
    alike: str = ""


def used_by(done: Examination) -> Used:
    """What an examined run used."""
    context = gather(done.evidence, done.diagnosis)
    config = dict(_settings(done))
    environment = {**_packages(done), **_facts(context.hardware), **_facts(context.environment)}
    environment |= {key: UsedValue(text, at) for key, text, at in recorded_by(done)}
    if _SEED in environment:
        config[_SEED] = environment.pop(_SEED)
    head = list(_first_lines(done))
    sections = {
        "config": {key: value for key, value in config.items() if group_of(key) not in _OF_DATA},
        "data": {key: value for key, value in config.items() if group_of(key) in _OF_DATA},
        "command": _command(context.command),
        "environment": environment,
        "checkpoint": dict(_loaded(head)),
    }
    run = done.evidence.run
    return Used(
        run_id=run.id,
        commit=str(context.commit_of_run.value) if context.commit_of_run else None,
        sections={name: _without_name(values, run.id) for name, values in sections.items()},
        resumed=len(run.attempts) > 1 or any(_RESUMED.search(text) for _, text in head),
    )


def without_name(text: str, run_id: str) -> str:
    """A text without the name of its run, which differs between any two runs."""
    return re.sub(rf"(?<![\w-]){re.escape(run_id)}(?![\w-])", "#", text)


def _without_name(values: dict[str, UsedValue], run_id: str) -> dict[str, UsedValue]:
    return {key: replace(value, alike=without_name(value.text, run_id)) for key, value in values.items()}


def _is_seed(key: str) -> bool:
    return key.rpartition(".")[2].lower().endswith(_SEED)


def _settings(done: Examination) -> Iterator[tuple[str, UsedValue]]:
    seen: set[str] = set()
    for setting in done.evidence.settings:
        if setting.key not in seen:
            seen.add(setting.key)
            yield setting.key, UsedValue(plain(setting.value), setting.path)


def _command(said: Said | None) -> dict[str, UsedValue]:
    if said is None:
        return {}
    try:
        return {key: UsedValue(plain(text), said.at) for key, text in command_settings(str(said.value)).items()}
    except ValueError:  # quotes that do not close: then it is compared as a whole
        return {"command": UsedValue(str(said.value), said.at)}


def _facts(facts: dict[str, Said]) -> dict[str, UsedValue]:
    return {name: UsedValue(str(said.value), said.at) for name, said in facts.items()}


def _packages(done: Examination) -> dict[str, UsedValue]:
    return {name: UsedValue(version, at) for name, (version, at) in packages_of(done.evidence).items()}


def _first_lines(done: Examination) -> Iterator[tuple[str, str]]:
    for entry in done.evidence.files:
        for number, raw in sorted(done.evidence.lines(entry.name, range(1, HEAD + 1)).items()):
            yield f"{entry.name}:{number}", raw[:1000].decode("utf-8", "replace")


def _loaded(head: list[tuple[str, str]]) -> Iterator[tuple[str, UsedValue]]:
    """The first checkpoint that the logs say was loaded."""
    for at, text in head:
        if found := _LOADED.search(text):
            yield "loaded", UsedValue(found["path"], at)
            return
