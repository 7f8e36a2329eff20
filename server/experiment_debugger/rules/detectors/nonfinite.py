"""Where training numbers stopped being finite, and what came right before.

    step 18390 loss 2.1042 grad_norm 8.1e+02 loss_scale 2048
    step 18400 loss nan    grad_norm inf     loss_scale 1024
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence, quote_of
from experiment_debugger.models import Evidence, Finding, Level, Mode, Position, Role, as_value
from experiment_debugger.readers.progress import Column
from experiment_debugger.rules.base import Rulebook, run_detector

FINITE_AGAIN = 2
"""Finite values in a row after a non-finite one that mean: the run recovered. One is a moving average's chance."""
EXPLOSION_FACTOR = 50.0
"""Growth of grad_norm over its median before, which a healthy spike hardly reaches."""
SCALE_HALVINGS = 8
"""Halvings in a row of the loss scale without growth; GradScaler starts at 2**16 and settles within a few."""


def _finding(
    entry: FileEvidence,
    column: Column,
    index: int,
    *,
    rule: str,
    title: str,
    recovered: bool = False,
    level: Level = "error",
    role: Role = "root",
    mode: Mode = "nan-gradient",
) -> Finding:
    line, step = column.lines[index], column.steps[index]
    evidence = [_point(entry, column, index)]
    if index > 0 and index - 1 in column.texts:
        evidence.append(_point(entry, column, index - 1))
    return Finding(
        rule=rule,
        mode=mode,
        symptom_class="nonfinite",
        role=role,
        level=level,
        title=title,
        position=Position(
            path=entry.name,
            line=line,
            step=step if step >= 0 else entry.steps_before(line),
            time=_time(entry, line),
            rank=column.rank if column.rank is not None else entry.artifact.rank,
            attempt=entry.artifact.attempt,
        ),
        evidence=tuple(evidence),
        values={"key": column.key, "value": str(as_value(column.values[index]))},
        recovered=recovered,
    )


def _time(entry: FileEvidence, line: int) -> float | None:
    progress = entry.progress
    for at, number in enumerate(progress.lines):
        if number == line:
            return None if math.isnan(progress.times[at]) else progress.times[at]
    return None


def _point(entry: FileEvidence, column: Column, index: int) -> Evidence:
    line, step = column.lines[index], column.steps[index]
    return Evidence(
        path=entry.name,
        line=line,
        step=step if step >= 0 else None,
        key=column.key,
        value=as_value(column.values[index]),
        quote=_quote(column, index),
    )


def _quote(column: Column, index: int) -> str | None:
    text = column.texts.get(index)
    if text is None:
        return None
    at = max(text.find(column.key), 0)
    return quote_of(text, (at, at + len(column.key) + 12))


def _onset(column: Column) -> tuple[int, bool] | None:
    """(index of the first value of the last stretch that did not recover, else of the first; whether it recovered).

    Finite values at an earlier step are a restart, not a recovery.
    """
    values, steps = column.values, column.steps
    start = column.nonfinite_from()
    if start is None:
        return None
    index, finite = start, 0
    for index in range(start, len(values)):
        if not math.isfinite(values[index]):
            if finite >= FINITE_AGAIN:
                start = index
            finite = 0
        elif steps[index] < 0 or steps[index] > steps[start]:
            finite += 1
    return start, finite >= FINITE_AGAIN


@run_detector(
    id="loss-nan-onset",
    title="the training loss became NaN or infinite and stayed so",
    mode="nan-gradient",
    symptom_class="nonfinite",
    role="root",
    level="error",
    needs=["series"],
    why="The first bad step names where to look: the batch, the operation and the update right before it.",
    confirm=["Replay the first bad step with forward hooks that report the first non-finite module output."],
    false_positives=["A loss term that is undefined for some batches by design and is masked before the sum."],
    references=["https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection"],
    verified="run",
)
def loss_nan_onset(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """The earliest loss of each file and rank that is not finite."""
    for entry in (*evidence.files, *evidence.tables):
        found: dict[int | None, tuple[int, int, Column, bool]] = {}
        for column in entry.progress.columns.values():
            onset = _onset(column) if column.role == "loss" and not column.evaluation else None
            if onset is None or len(column.values) < 2 and column.role != "loss":
                continue
            index, recovered = onset
            if "ppl" in column.key.lower() or "perplexity" in column.key.lower():
                continue
            key = (recovered, column.lines[index])
            best = found.get(column.rank)
            if best is None or key < (best[3], best[2].lines[best[1]]):
                found[column.rank] = (column.lines[index], index, column, recovered)
        for _, index, column, recovered in found.values():
            value = as_value(column.values[index])
            yield _finding(
                entry,
                column,
                index,
                rule="loss-nan-onset",
                title=f"{column.key} is {value} from here on, after {index} finite reports",
                recovered=recovered,
            )


@run_detector(
    id="grad-norm-nonfinite",
    title="the gradient norm is NaN or infinite while the loss is still finite",
    mode="nan-gradient",
    symptom_class="nonfinite",
    role="root",
    level="error",
    needs=["series"],
    why="Gradients went bad in the backward pass: an operation whose derivative is undefined, or an overflow.",
    confirm=["Run the step once under torch.autograd.set_detect_anomaly(True), forward included."],
    false_positives=["Single overflows that a loss scaler skips: the norm is inf once and finite afterwards."],
    references=["https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping"],
    verified="run",
)
def grad_norm_nonfinite(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """The first lasting non-finite gradient norm of each file."""
    for entry, column in evidence.columns("grad-norm"):
        onset = _onset(column)
        if onset is not None and not column.evaluation:
            index, recovered = onset
            yield _finding(
                entry,
                column,
                index,
                rule="grad-norm-nonfinite",
                title=f"{column.key} is {as_value(column.values[index])} from here on",
                recovered=recovered,
            )


@run_detector(
    id="eval-loss-nan",
    title="the evaluation loss is NaN although the training loss is finite",
    mode="nan-gradient",
    symptom_class="nonfinite",
    role="root",
    level="error",
    needs=["series"],
    within="evaluation",
    why="Evaluation sees batches that training does not: empty targets, other lengths, other precision.",
    confirm=["Evaluate batch by batch and print the first one whose loss is not finite, with its label counts."],
    false_positives=["A metric that is undefined until the first full evaluation."],
    references=["https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html"],
    verified="run",
)
def eval_loss_nan(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Evaluation losses that end non-finite."""
    for entry, column in evidence.columns("eval-loss", "loss"):
        if (column.role == "loss" and not column.evaluation) or _loss_is_bad(entry):
            continue
        onset = _onset(column)
        if onset is None or "ppl" in column.key.lower():
            continue
        index, recovered = onset
        yield _finding(
            entry,
            column,
            index,
            rule="eval-loss-nan",
            title=f"{column.key} is {as_value(column.values[index])}",
            recovered=recovered,
            role="root" if not recovered else "context",
        )


@run_detector(
    id="loss-zero-grad-nan",
    title="the loss reads 0.0 while the gradient norm is NaN: the trainer filters NaN from the log",
    mode="nan-gradient",
    symptom_class="nonfinite",
    role="root",
    level="error",
    needs=["series"],
    why="HF Trainer's logging_nan_inf_filter replaces NaN losses, so a dead run shows loss 0.0.",
    confirm=["Set logging_nan_inf_filter=False and rerun a few steps."],
    false_positives=["A loss that is truly zero has a gradient norm of zero, not NaN."],
    references=["https://huggingface.co/docs/transformers/main_classes/trainer"],
    verified="run",
)
def loss_zero_grad_nan(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Reports with loss exactly 0 next to a NaN gradient norm."""
    for entry in evidence.files:
        losses = [column for column in entry.progress.columns.values() if column.role == "loss"]
        norms = [column for column in entry.progress.columns.values() if column.role == "grad-norm"]
        for loss in losses:
            zero = {line: i for i, line in enumerate(loss.lines) if loss.values[i] == 0.0}
            for norm in norms:
                bad = [i for i, line in enumerate(norm.lines) if line in zero and math.isnan(norm.values[i])]
                if bad:
                    yield _finding(
                        entry,
                        norm,
                        bad[0],
                        rule="loss-zero-grad-nan",
                        title=f"{loss.key} is 0.0 while {norm.key} is nan, in {len(bad)} reports from here on",
                    )


@run_detector(
    id="grad-norm-explosion",
    title="the gradient norm grew far beyond its usual size right before the numbers went bad",
    mode="nan-gradient",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    why="Growth before the onset speaks for the update (learning rate, warm-up), a sudden NaN for one operation or batch.",
    confirm=["Compare the norm of the 20 steps before the onset with its median."],
    references=["https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html"],
    verified="run",
)
def grad_norm_explosion(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """A norm that rises by EXPLOSION_FACTOR over its median before a non-finite loss of the same file."""
    for entry, column in evidence.columns("grad-norm"):
        bad = column.nonfinite_from()
        end = len(column.values) if bad is None else bad
        finite = sorted(column.values[:end])
        if len(finite) < 4 or not _loss_is_bad(entry):
            continue
        median = finite[len(finite) // 2]
        peak = max(range(end), key=lambda i: column.values[i])
        if median > 0 and column.values[peak] > EXPLOSION_FACTOR * median and peak >= end - 20:
            yield _finding(
                entry,
                column,
                peak,
                rule="grad-norm-explosion",
                title=f"{column.key} reached {column.values[peak]:.4g}, {column.values[peak] / median:.0f} times its median",
                level="warning",
                role="context",
            )


def _loss_is_bad(entry: FileEvidence) -> bool:
    return any(
        column.role == "loss" and not column.evaluation and column.nonfinite_from() is not None
        for column in entry.progress.columns.values()
    )


@run_detector(
    id="loss-scale-collapse",
    title="the loss scale was halved again and again without recovering",
    mode="nan-gradient",
    symptom_class="nonfinite",
    role="root",
    level="error",
    needs=["series"],
    why="Every step overflows: gradients are not finite at any scale, so the optimizer never steps.",
    confirm=["Run one step in float32: finite gradients mean precision, non-finite ones mean the model or data."],
    false_positives=["The first steps of a run, while the scale finds its level."],
    references=["https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler"],
    verified="run",
)
def loss_scale_collapse(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """A chain of halvings that goes to the end of the log."""
    for entry, column in evidence.columns("loss-scale"):
        values = column.values
        first = len(values) - 1
        while first > 0 and values[first - 1] > values[first] >= 0:
            first -= 1
        if len(values) - 1 - first >= SCALE_HALVINGS:
            yield _finding(
                entry,
                column,
                first + 1,
                rule="loss-scale-collapse",
                title=f"{column.key} fell from {values[first]:g} to {values[-1]:g} without one recovery",
            )
