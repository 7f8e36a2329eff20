"""Small files in which a run has written down what it ran with: metadata.json, env.json, git.yaml.

output/42/metadata.json   {"detectron2": {"commit": "9d3e5c1"}}   ->   metadata.json detectron2.commit: 9d3e5c1

Only words count: numbers there are results, and results differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from experiment_debugger.diagnose import Examination
from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.configs import read_config

LARGEST = 1 << 16  # bytes; more is data
_TIME = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d")
_OF_ONE_RUN = re.compile(
    r"(?i)(?:^|[._])(?:time\w*|date|created\w*|started\w*|host\w*|pid|port|uuid|id|name|url|user\w*|job\w*)$"
)


def recorded_by(done: Examination) -> Iterator[tuple[str, str, str]]:
    """(file and key, value, path) of every word that such files of a run hold, what only names the run aside."""
    run = done.evidence.run
    for artifact in run.of_kind("other", "environment", "metrics"):
        if artifact.path.suffix not in {".json", ".yaml", ".yml"} or artifact.size > LARGEST:
            continue
        try:
            settings = read_config(artifact.path)
        except UnreadableArtifact:
            continue
        for key, value in settings.items():
            if (
                isinstance(value, str)
                and not _OF_ONE_RUN.search(key)
                and not _TIME.search(value)
                and run.id not in value
            ):
                yield f"{artifact.path.name} {key}", value[:200], artifact.name
