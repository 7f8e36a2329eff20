"""From everything that was read of a run to one diagnosis, or an honest abstention."""

from __future__ import annotations

from experiment_debugger.diagnose.engine import diagnose, diagnose_text, investigate, meant_by

__all__ = ["diagnose", "diagnose_text", "investigate", "meant_by"]
