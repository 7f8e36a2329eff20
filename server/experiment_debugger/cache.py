"""The user's cache folder: fingerprints and parsed indexes live there, never in a project.

Linux    $XDG_CACHE_HOME/experiment-debugger, else ~/.cache/experiment-debugger
macOS    ~/Library/Caches/experiment-debugger
Windows  %LOCALAPPDATA%\\experiment-debugger\\Cache
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from experiment_debugger.errors import DebuggerError

NAME = "experiment-debugger"


def cache_location(env: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Where the cache folder is or would be; nothing is created."""
    xdg = env.get("XDG_CACHE_HOME", "")
    if Path(xdg).is_absolute():  # the XDG specification says that a relative value is ignored
        return Path(xdg) / NAME
    if platform == "darwin":
        return _home(env) / "Library" / "Caches" / NAME
    if platform == "win32":
        local = env.get("LOCALAPPDATA", "")
        return (Path(local) if local else _home(env) / "AppData" / "Local") / NAME / "Cache"
    return _home(env) / ".cache" / NAME


def cache_folder(env: Mapping[str, str]) -> Path:
    """The cache folder, created on first use and readable by its owner only; raises `DebuggerError` if impossible."""
    folder = cache_location(env)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise DebuggerError(
            f"expected a writable cache folder; found {folder}: {problem.strerror}; set XDG_CACHE_HOME"
        ) from None
    return folder


def _home(env: Mapping[str, str]) -> Path:
    return Path(env["HOME"]) if env.get("HOME") else Path.home()
