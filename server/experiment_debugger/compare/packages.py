"""Versions of installed packages as environment files list them.

torch==2.1.2+cu121          requirements.txt, pip freeze, wandb's requirements.txt
torch   2.1.2               pip list
torch=2.1.2=py310_cuda      conda list --export, environment.yml
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.evidence import RunEvidence
from experiment_debugger.readers.files import open_artifact

LARGEST = 1 << 20  # bytes of an environment file
_LINE = re.compile(
    r"^[ \t-]*([A-Za-z][\w.-]*)(?:\[[\w,]+\])?(?:==|===|=|\s{2,})v?(\d[\w.+!-]*)(?:=[\w.]+)?[ \t]*(?:;.*|#.*)?$",
    re.MULTILINE,
)


def packages_of(evidence: RunEvidence) -> dict[str, tuple[str, str]]:
    """(version, path) by package, in lower case with `-`; the first file that names a package counts."""
    found: dict[str, tuple[str, str]] = {}
    for artifact in evidence.run.of_kind("environment"):
        if artifact.size <= LARGEST:
            for name, version in _listed(artifact.path):
                found.setdefault(name.lower().replace("_", "-"), (version, artifact.name))
    return found


def _listed(path: Path) -> Iterator[tuple[str, str]]:
    try:
        with open_artifact(path) as stream:
            text = stream.read(LARGEST).decode("utf-8", "replace")
    except (OSError, UnreadableArtifact):
        return
    yield from _LINE.findall(text)
