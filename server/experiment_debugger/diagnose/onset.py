"""When in training a failure began: step, phase and the part of the step."""

from __future__ import annotations

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding, Onset, Phase, Within
from experiment_debugger.readers.tracebacks import Frame, Traceback
from experiment_debugger.rules.rulebook import Rulebook

EARLY, LATE = 0.10, 0.90
"""Shares of the planned steps that bound early-, mid- and late-training (CONTRACT.md)."""
FEW_REPORTS = 3
"""Reports with steps that a file needs to be trusted over the main log: a rank's log may hold only a resume line."""
_FUNCTIONS: dict[Within, str] = {
    "evaluation": "evaluate validate validation_step evaluation_loop _run_validation run_evaluation eval_epoch "
    "_run_sanity_check val_epoch test_step",
    "checkpoint": "save_checkpoint _save_checkpoint save_model save_pretrained load_checkpoint load_state_dict "
    "_load_state_dict",
    "backward": "backward _engine_run_backward training_step_backward",
    "optimizer": "optimizer_step _optimizer_step clip_grad_norm_ unscale_",
    "data": "__next__ _next_data __getitem__ _process_data _worker_loop collate_fn default_collate get_batch",
    "collective": "all_reduce barrier broadcast all_gather reduce_scatter",
    "init": "init_process_group __init__ setup build_model from_pretrained",
    "forward": "forward _call_impl training_step",
}
"""Functions of traceback frames that name the part of the step; the first two win over what they call."""
_WITHIN: dict[str, Within] = {name: within for within, names in _FUNCTIONS.items() for name in names.split()}
_OUTER = frozenset({"evaluation", "checkpoint"})


def onset_of(finding: Finding, evidence: RunEvidence, book: Rulebook) -> Onset:
    """The onset of a finding, as far as the artifacts say."""
    step = _step(finding, evidence)
    within = _within(finding, evidence, book)
    return Onset(phase=_phase(step, within, evidence), step=step, within=within)


def _step(finding: Finding, evidence: RunEvidence) -> int | None:
    position = finding.position
    own = evidence.file(position.path)
    if own is not None and own.recorded.series:
        return position.step
    reports = sum(step >= 0 for step in own.progress.steps) if own else 0
    if position.step is not None and (reports >= FEW_REPORTS or reports == _most_reports(evidence)):
        return position.step
    if reports >= FEW_REPORTS:
        return None  # the file reports steps, all of them after this line
    bar = own.progress.bar_before(position.line or 0, evidence.planned_steps) if own else None
    if bar is not None:
        return bar
    if position.time is not None:
        return evidence.step_at_time(position.time)
    return evidence.last_step if finding.level in {"fatal", "error"} and _is_late(finding, own) else None


def _most_reports(evidence: RunEvidence) -> int:
    return max((sum(step >= 0 for step in entry.progress.steps) for entry in evidence.files), default=0)


def _is_late(finding: Finding, own: FileEvidence | None) -> bool:
    """Whether a finding of a file without steps stands near its end, so that the last step is the best estimate."""
    return own is not None and finding.position.line is not None and finding.position.line >= own.stats.last_line * 0.2


def _within(finding: Finding, evidence: RunEvidence, book: Rulebook) -> Within | None:
    info = book.info(finding.rule)
    if info is not None and info.within is not None:
        return info.within
    block = traceback_at(finding.position.path, finding.position.line, evidence)
    return within_frames(block.frames + block.root.frames) if block else None


def traceback_at(path: str, line: int | None, evidence: RunEvidence) -> Traceback | None:
    """The traceback whose exception line (or message) stands at this place."""
    own = evidence.file(path)
    if own is None or line is None:
        return None
    near = [block for block in own.tracebacks if block.first <= line <= block.last + 14]
    return min(near, key=lambda block: abs(block.last - line), default=None)


def traceback_of(path: str, line: int, evidence: RunEvidence) -> Traceback | None:
    """The traceback that the line is a part of; what merely follows one has an exception of its own or none."""
    block = traceback_at(path, line, evidence)
    return block if block is not None and block.first <= line <= block.last else None


def within_frames(frames: list[Frame]) -> Within | None:
    """The part of the step that the deepest telling frame names; evaluation and checkpoint win over what they call."""
    parts = [_WITHIN.get(frame.function.rsplit(".", 1)[-1]) for frame in frames]
    outer = next((part for part in parts if part in _OUTER), None)
    return outer or next((part for part in reversed(parts) if part is not None), None)


def _phase(step: int | None, within: Within | None, evidence: RunEvidence) -> Phase:
    if within == "evaluation":
        return "evaluation"
    if within == "checkpoint" and step:
        return "checkpoint"
    if step is None:
        return "startup" if not evidence.trained or within == "init" else "unknown"
    if step <= 1:
        return "step-0"
    planned = evidence.planned_steps
    if not planned or planned < step:
        return "unknown"
    share = step / planned
    return "early-training" if share < EARLY else "late-training" if share > LATE else "mid-training"
