"""Where a verb works: the project, the run, and what a surface may reach.

A folder that a person typed is taken; one that came over MCP must lie inside the server's own project.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from experiment_debugger.command import CALL
from experiment_debugger.errors import DebuggerError

if TYPE_CHECKING:
    from experiment_debugger.diagnose import Examination
    from experiment_debugger.models import Mode
    from experiment_debugger.project import Project
    from experiment_debugger.run import Run


def mode_named(name: str | None) -> Mode | None:
    """The mode that a user means by nan, oom, slow, ... or by its full name."""
    from experiment_debugger.models import MODE_ALIASES

    if name is None:
        return None
    if name not in MODE_ALIASES:
        raise DebuggerError(f"Unknown mode '{name}'; expected one of {', '.join(MODE_ALIASES)}.")
    return MODE_ALIASES[name]


def project_of(folder: str | None) -> Project:
    """The project. A folder that a person typed is taken; one that came over MCP must lie inside the server's own."""
    from experiment_debugger.project import find_project

    here, env = _working_folder(), dict(os.environ)
    if folder is None:
        return find_project(None, here, env)
    if not CALL.get().typed:
        folder = str(find_project(None, here, env).confined(folder))
    return find_project(Path(folder), here, env)


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except OSError:
        raise DebuggerError("expected a working folder; found that it is gone; change to one that exists") from None


def run_of(run_id: str | None, project: Project) -> Run:
    """The run that is meant."""
    from experiment_debugger.run import resolve

    return resolve(project, run_id, typed_path_allowed=CALL.get().typed)


def examined(run: Run, hint: Mode | None = None) -> Examination:
    """Everything that is read of a run, once, what was found in it, and the diagnosis."""
    from experiment_debugger.diagnose import examine

    return examine(run, mode=hint)
