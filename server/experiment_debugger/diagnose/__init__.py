"""From everything that was read of a run to one diagnosis, or an honest abstention."""

from __future__ import annotations

from experiment_debugger.diagnose.engine import (
    Examination,
    diagnose,
    diagnose_text,
    examine,
    investigate,
    meant_by,
    risk_fingerprints,
)

__all__ = ["Examination", "diagnose", "diagnose_text", "examine", "investigate", "meant_by", "risk_fingerprints"]
