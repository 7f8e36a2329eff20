"""The project's own settings: `.experiment-debugger/config.yaml`, all keys optional.

roots: [/scratch/me/runs]                 # more folders that may be read
log_pattern: 'it (?P<step>\\d+) L=(?P<loss>\\S+)'
key_roles: {'opt/gn': grad_norm}
signatures: debug/signatures              # folder of own log signatures, below the project
suppressions:
  - {rule: gpu-idle, reason: 'the loader is throttled on purpose'}
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from experiment_debugger.errors import DebuggerError
from experiment_debugger.yaml_text import BrokenYaml, parse_yaml

SETTINGS_FILE = Path(".experiment-debugger") / "config.yaml"
MAX_BYTES = 256_000


class Strict(BaseModel):
    """Immutable, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Suppression(Strict):
    """One rule that the project does not want to hear, with the reason; optionally only below `path`."""

    rule: str = Field(min_length=3)
    reason: str = Field(min_length=3)
    path: str | None = None


class Settings(Strict):
    """What a project may set."""

    roots: tuple[str, ...] = ()
    log_pattern: str | None = None
    key_roles: dict[str, str] = {}
    signatures: str | None = None
    suppressions: tuple[Suppression, ...] = ()

    @field_validator("log_pattern")
    @classmethod
    def _pattern_compiles(cls, pattern: str | None) -> str | None:
        try:
            names = re.compile(pattern).groupindex if pattern is not None else {"step": 1}
        except re.error as problem:
            raise ValueError(f"does not compile: {problem}") from None
        if not names:
            raise ValueError("has no named group; write (?P<step>...) and (?P<loss>...)")
        return pattern


def load_settings(root: Path) -> Settings:
    """Settings of the project at `root`; raises `DebuggerError` naming file and line when they cannot be used."""
    path = root / SETTINGS_FILE
    try:
        if not path.is_file():
            return Settings()
        if path.stat().st_size > MAX_BYTES:
            raise DebuggerError(f"{SETTINGS_FILE}: expected at most {MAX_BYTES} bytes of settings; shorten the file")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise DebuggerError(f"{SETTINGS_FILE}: expected a readable UTF-8 file; found: {problem}; fix it") from None
    return _parse(text)


def _parse(text: str) -> Settings:
    try:
        data = parse_yaml(text)
    except BrokenYaml as problem:
        raise DebuggerError(
            f"{SETTINGS_FILE}:{problem.line or 1}: expected YAML; found: {problem.problem}; fix or delete the file"
        ) from None
    try:
        return Settings.model_validate(data if data is not None else {})
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        line = _line_of(text, first["loc"])
        allowed = ", ".join(Settings.model_fields)
        raise DebuggerError(
            f"{SETTINGS_FILE}:{line}: {place or 'file'}: {first['msg']}; allowed keys: {allowed}"
        ) from None


def _line_of(text: str, location: tuple[int | str, ...]) -> int:
    """1-based line of the deepest part of `location` that stands in the document."""
    import yaml

    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    line = 1
    for part in location:
        value = getattr(node, "value", None)
        if isinstance(part, int) and isinstance(value, list) and part < len(value):
            node = value[part]
            line = int(node.start_mark.line) + 1
            continue
        pairs = [pair for pair in value if isinstance(pair, tuple)] if isinstance(value, list) else []
        found = next(((key, item) for key, item in pairs if key.value == str(part)), None)
        if found is None:
            break
        line, node = int(found[0].start_mark.line) + 1, found[1]
    return line
