"""Editable installs of the project: the interpreter would import the working tree instead of the worktree.

.../site-packages/__editable__.project-0.1.pth      /home/ann/project/src
.../site-packages/__editable___project_finder.py    MAPPING = {'project': '/home/ann/project/src/project'}

Folders of PYTHONPATH come before both.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from experiment_debugger.smoke.output_folders import inside

LARGEST = 1 << 20  # bytes
_ENVIRONMENT = re.compile(r"([^\s\"'=;]+)/bin/(?:activate|python[\d.]*)\b")


def import_folders(root: Path, texts: Iterable[str], argv0: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Folders, relative to the root, from which the command's interpreter imports because of editable installs."""
    found: dict[str, None] = {}
    for site in _site_packages(root, texts, argv0, env):
        for path in (*site.glob("*.pth"), *site.glob("__editable__*.py"), *site.glob("*.egg-link")):
            found |= dict.fromkeys(_folders(root, path))
    return tuple(found)


def _site_packages(root: Path, texts: Iterable[str], argv0: str, env: Mapping[str, str]) -> Iterator[Path]:
    program = shutil.which(argv0, path=env.get("PATH")) if os.sep not in argv0 else str(root / argv0)
    prefixes = [os.path.dirname(os.path.dirname(program))] if program else []
    prefixes += [env[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if env.get(name)]
    prefixes += [os.path.expanduser(found[1]) for text in texts for found in _ENVIRONMENT.finditer(text)]
    for prefix in dict.fromkeys(os.path.normpath(root / prefix) for prefix in prefixes):
        yield from Path(prefix).glob("lib/python3*/site-packages")


def _folders(root: Path, path: Path) -> Iterator[str]:
    """Folders of the project that a path file, or the finder that setuptools writes, adds."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size <= LARGEST else ""
    except OSError:
        return
    finder = path.suffix == ".py"
    places = re.findall(r"['\"](/[^'\"\n]+)['\"]", text) if finder else text.splitlines()
    for place in places:
        name = inside(root, place.strip()) if os.path.isabs(place.strip()) else None
        if name is not None and not name.startswith(".."):
            yield os.path.dirname(name) or "." if finder else name
