"""All rules and causes, found by scanning the folders of this package, and loaded once.

The entries are YAML, which people read and write; parsing a megabyte of it costs more than reading a log. So the parsed
entries are kept as JSON in the user's cache folder, under a name that changes with every file, and read from there.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pkgutil
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from experiment_debugger.cache import cache_folder
from experiment_debugger.errors import DebuggerError, InvalidRule
from experiment_debugger.models import Frozen
from experiment_debugger.rules.base import Cause, Detector, ModeInfo, RuleInfo, Signature, SymptomClass
from experiment_debugger.rules.strict_yaml import load_entries

RULES_DIR = Path(__file__).parent
Entry = TypeVar("Entry", bound=BaseModel)


class Entries(Frozen):
    """What the YAML files of the package hold."""

    signatures: tuple[Signature, ...]
    causes: tuple[Cause, ...]
    modes: tuple[ModeInfo, ...]
    symptoms: tuple[SymptomClass, ...]


@dataclass(frozen=True)
class Rulebook:
    """All rules and causes of one installation (and of a project's own signature folder)."""

    signatures: dict[str, Signature]
    causes: dict[str, Cause]
    modes: dict[str, ModeInfo]
    symptoms: dict[str, SymptomClass]
    detectors: dict[str, Detector] = field(default_factory=dict)

    def info(self, rule: str) -> RuleInfo | None:
        """The entry of a signature or detector."""
        if rule in self.signatures:
            return self.signatures[rule]
        return self.detectors[rule].info if rule in self.detectors else None

    def rule_ids(self) -> list[str]:
        """Ids of signatures and detectors, sorted."""
        return sorted({*self.signatures, *self.detectors})


def load_rulebook(own_signatures: Path | None = None) -> Rulebook:
    """The rulebook; `own_signatures` is a project's folder of signatures, always checked strictly."""
    return _rulebook(own_signatures, _stamp([own_signatures]) if own_signatures else "")


@lru_cache(maxsize=8)
def _rulebook(own_signatures: Path | None, _stamp_of_own: str) -> Rulebook:
    entries = _packaged()
    signatures = {rule.id: rule for rule in entries.signatures}
    if own_signatures is not None:
        signatures |= _own(own_signatures, {symptom.id for symptom in entries.symptoms})
    return Rulebook(
        signatures,
        {cause.id: cause for cause in entries.causes},
        {mode.id: mode for mode in entries.modes},
        {symptom.id: symptom for symptom in entries.symptoms},
        load_detectors(),
    )


def _own(folder: Path, symptom_classes: set[str]) -> dict[str, Signature]:
    """A project's own signatures; they may use only the symptom classes that there are."""
    if not folder.is_dir():
        raise InvalidRule(f"expected a folder of signatures at {folder}; found none; create it or correct `signatures`")
    own = load_folder(folder, Signature, strict=True)
    for rule in own.values():
        if rule.symptom_class not in symptom_classes:
            known = ", ".join(sorted(symptom_classes))
            raise InvalidRule(f"{rule.id}: symptom_class '{rule.symptom_class}' does not exist; use one of {known}")
    return own


@lru_cache(maxsize=1)
def _packaged() -> Entries:
    """The entries of this package, from the cache when it is fresh."""
    try:
        place = cache_folder(os.environ) / f"rules-{_stamp([RULES_DIR])}.json"
        with suppress(OSError, ValidationError):
            return Entries.model_validate_json(place.read_bytes())
    except (DebuggerError, OSError):
        return read_entries()
    entries = read_entries()
    with suppress(OSError):
        _keep(place, entries.model_dump_json(exclude_defaults=True).encode())
    return entries


def read_entries(*, strict: bool = False) -> Entries:
    """The entries of this package from their YAML files; `strict` also compiles every regex."""
    taxonomy = RULES_DIR / "taxonomy"
    causes = [cause for path in sorted(taxonomy.glob("causes-*.yaml")) for cause in load_file(path, Cause)]
    _refuse_twins(cause.id for cause in causes)
    return Entries(
        signatures=tuple(load_folder(RULES_DIR / "signatures", Signature, strict=strict).values()),
        causes=tuple(causes),
        modes=tuple(load_file(taxonomy / "modes.yaml", ModeInfo)),
        symptoms=tuple(load_file(taxonomy / "symptoms.yaml", SymptomClass)),
    )


def _refuse_twins(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidRule(f"cause '{name}' stands twice; rename one")
        seen.add(name)


def _keep(place: Path, data: bytes) -> None:
    """Write the cache file in one step, so that no other process reads half of it; older ones go."""
    with NamedTemporaryFile(dir=place.parent, delete=False) as stream:
        stream.write(data)
    os.replace(stream.name, place)
    for old in place.parent.glob("rules-*.json"):
        if old != place:
            old.unlink(missing_ok=True)


def _stamp(folders: Sequence[Path]) -> str:
    """A name that changes when any rule file, or the form of the rules, changes."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted([*folder.rglob("*.yaml"), Path(__file__), Path(__file__).with_name("base.py")]):
            info = path.stat()
            digest.update(f"{path}:{info.st_size}:{info.st_mtime_ns}\n".encode("utf-8", "replace"))
    return digest.hexdigest()[:24]


def load_file(path: Path, kind: type[Entry]) -> list[Entry]:
    """Entries of one YAML file; raises `InvalidRule` naming file, line and field."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidRule(f"{path.name}: expected a readable UTF-8 file; found: {problem}") from None
    entries = []
    for line, data in load_entries(text, path.name):
        try:
            entries.append(kind.model_validate(data))
        except ValidationError as problem:
            first = problem.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "entry"
            raise InvalidRule(f"{path.name}:{line}: {data.get('id', '?')}: {place}: {first['msg']}") from None
    return entries


def load_folder(folder: Path, kind: type[Entry], *, strict: bool = False) -> dict[str, Entry]:
    """Entries of all YAML files below a folder by id; `strict` also compiles every regex."""
    found: dict[str, Entry] = {}
    for path in sorted(folder.rglob("*.yaml")):
        for entry in load_file(path, kind):
            name = str(entry.id)  # type: ignore[attr-defined]
            if name in found:
                raise InvalidRule(f"{path.name}: id '{name}' stands twice; rename one")
            if strict and isinstance(entry, Signature):
                check_patterns(entry, path)
            found[name] = entry
    return found


def check_patterns(rule: Signature, path: Path) -> None:
    """Raise `InvalidRule` when a regex of the rule does not compile."""
    for name, regex in (("regex", rule.match.regex), ("unless", rule.match.unless)):
        try:
            re.compile(regex or "")
        except re.error as problem:
            raise InvalidRule(f"{path.name}: {rule.id}: {name} does not compile: {problem}") from None


@lru_cache(maxsize=1)
def load_detectors() -> dict[str, Detector]:
    """All detectors of the package `rules.detectors`, found by scanning it."""
    package = importlib.import_module("experiment_debugger.rules.detectors")
    found: dict[str, Detector] = {}
    for module_info in sorted(pkgutil.iter_modules(package.__path__), key=lambda item: item.name):
        module: Any = importlib.import_module(f"{package.__name__}.{module_info.name}")
        for value in vars(module).values():
            if isinstance(value, Detector):
                found[value.info.id] = value
    return found


def effects(symptoms: dict[str, SymptomClass], symptom_class: str) -> frozenset[str]:
    """All classes that a finding of this class can explain, transitively."""
    seen: set[str] = set()
    queue = [symptom_class]
    while queue:
        fresh = [effect for effect in symptoms[queue.pop()].leads_to if effect not in seen]
        seen.update(fresh)
        queue.extend(fresh)
    return frozenset(seen)


def matching(rules: Iterable[Signature], text: str) -> list[str]:
    """Ids of the signatures that match one line, parents replaced by what refines them; neighbours do not count."""
    hits = [
        rule
        for rule in rules
        if any(literal in text for literal in rule.match.literals) and rule.groups(text) is not None
    ]
    replaced = {parent for rule in hits for parent in rule.refines}
    return [rule.id for rule in hits if rule.id not in replaced]
