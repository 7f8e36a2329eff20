"""Config files at two commits: which of the changed ones are the run's, and which settings differ.

configs/42.yaml            named by the job
configs/model/vit.yaml     named as `model: vit` in the defaults of configs/42.yaml
configs/7.yaml             changed too, and nobody names it
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from experiment_debugger import git
from experiment_debugger.readers.configs import DEEPEST, LARGEST_CONFIG, read_settings

MOST_STEPS = 4
"""How far configs are followed that name others."""
MOST_CONFIGS = 3000
SUFFIXES = (".yaml", ".yml", ".json", ".toml")
_NO_CONFIG = re.compile(
    r"(?i)(?:^|/)(?:package(?:-lock)?\.json|tsconfig\w*\.json|pyproject\.toml|pixi\.toml|poetry\.toml|codecov\.ya?ml|mkdocs\.ya?ml"
    r"|environment\.ya?ml|conda\w*\.ya?ml|dvc\.(?:yaml|lock)|\.?[\w-]*lock[\w.-]*|\.pre-commit-config\.ya?ml|\.\w[^/]*\.ya?ml)$"
    r"|^(?:\.github|\.gitlab|\.circleci|\.vscode|\.devcontainer|docs|memory|\.agent|tests?)/"
)  # fmt: skip


def is_config(path: str) -> bool:
    """Whether a file may hold settings of a run: no tool's own file, no lock file, no notes."""
    return path.endswith(SUFFIXES) and not _NO_CONFIG.search(path)


def of_the_run(root: Path, commit: str, known: Collection[str], texts: Iterable[str]) -> set[str]:
    """The configs of a run at a commit: the known ones, and those that a text or one of them names, step by step."""
    every = [path for path in git.paths(root, "ls-tree", "-r", "-z", "--name-only", commit) if is_config(path)]
    own, new = set(known), set(known)
    said = "\n".join(texts)
    for _ in range(MOST_STEPS):
        said += "\n".join(text_at(root, commit, path) or "" for path in new if path.endswith(SUFFIXES))
        new = {path for path in every[:MOST_CONFIGS] if path not in own and _is_named(path, said)}
        if not new:
            break
        own |= new
    return own


def text_at(root: Path, commit: str, path: str) -> str | None:
    """A tracked text file at a commit; None where there is none, or a larger one than configs are."""
    size = git.output(root, "cat-file", "-s", f"{commit}:{path}")
    if size is None or int(size) > LARGEST_CONFIG:
        return None
    return git.output(root, "cat-file", "blob", f"{commit}:{path}")


def _is_named(path: str, text: str) -> bool:
    """By its path, or as hydra and mmengine do: by its folder and its name without an extension."""
    pure = PurePosixPath(path)
    group, stem = re.escape(pure.parent.name), re.escape(pure.stem)
    as_file = rf"(?<![\w-])(?:{re.escape(path)}|{re.escape(pure.name)})(?![\w-])"
    as_group = rf"(?<![\w-]){group}(?:@[\w.]+)?\s*(?::|=|/)\s*[\"']?{stem}(?![\w-])" if group else as_file
    as_name = rf"--config[-_]name[ =]{stem}(?![\w-])|^[ \t]*-[ \t]+[\"']?(?:[\w/]+/)?{stem}[\"']?[ \t]*$"
    return re.search(f"{as_file}|{as_group}|{as_name}", text, re.MULTILINE) is not None


def settings_at(root: Path, commit: str, path: str) -> dict[str, Any] | str | None:
    """Dotted keys of a config at a commit; None where there is no such file, a text where it cannot be read."""
    size = git.output(root, "cat-file", "-s", f"{commit}:{path}")
    if size is None:
        return None
    if int(size) > LARGEST_CONFIG:
        return "larger than 1 MB"
    text = git.output(root, "cat-file", "blob", f"{commit}:{path}") or ""
    if "\ufffd" in text or "\0" in text:
        return "no UTF-8 text"
    try:
        found = _toml(text) if path.endswith(".toml") else read_settings(text, path)
    except (ValueError, RecursionError) as problem:
        return str(problem)[:160]
    return found if found or not text.strip() else "no mapping of settings"


def _toml(text: str) -> dict[str, Any]:
    if sys.version_info < (3, 11):
        raise ValueError("TOML is read from Python 3.11 on")
    import tomllib

    return dict(_flat(tomllib.loads(text)))


def _flat(value: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterable[tuple[str, Any]]:
    for key, child in value.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(child, dict) and depth < DEEPEST:
            yield from _flat(child, name, depth + 1)
        else:
            yield name, child


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterable[tuple[str, str | None, str | None]]:
    """(key, value before, value after) where they differ in value, not in spelling; None: not set."""
    for key in dict.fromkeys([*before, *after]):
        old, new = (plain(side[key]) if key in side else None for side in (before, after))
        if old != new:
            yield key, old, new


def plain(value: Any) -> str:
    """A value as text, the same for each spelling of it: 1e-4 and 0.0001, true and True, 3 and "3"."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(plain, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{key}: {plain(one)}' for key, one in value.items()))}}}"
    text = str(value).strip()
    if text.lower() in {"true", "false"}:
        return text.lower()
    if value is None or text.lower() in {"null", "~"}:
        return "null"
    if re.fullmatch(r"[-+]?\d+", text):
        return str(int(text))
    try:
        return f"{float(text):.12g}" if re.fullmatch(r"[-+]?[\d._]+(?:[eE][-+]?\d+)?", text) else text
    except ValueError:
        return text
