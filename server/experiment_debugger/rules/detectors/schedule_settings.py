"""What the settings say of the learning rate, next to what became of it.

lr_scheduler_type: cosine     lr 0.003 in every report            made, and never stepped
warmup_steps: 5000            max_steps: 120                      a warm-up that the run never leaves
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from experiment_debugger.evidence import FileEvidence, RunEvidence, Setting
from experiment_debugger.models import Evidence, Finding, Position
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import RuleInfo, run_detector, series_detector
from experiment_debugger.rules.plans import LEARNING_RATE, WARMUP_STEPS, planned_end, setting_of
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import series_finding

FEWEST_POINTS = 8
"""Reports of a learning rate below which nothing is said about its schedule."""
MUST_HAVE_MOVED = 0.3
"""Share of the plan after which linear and cosine schedules have visibly left their start."""
ROUNDED = 3
"""Significant digits up to which a rate in a text log may have been rounded."""
SCHEDULE = re.compile(r"(?i)^(?:lr|learning_?rate)_?(?:sched\w*|decay_?style|policy)(?:_?(?:type|name))?$|^sched$")
MOVING = re.compile(r"(?i)^(?:cosine\w*|linear\w*|polynomial|poly|inverse_sqrt|one_?cycle\w*|exponential\w*)$")


@series_detector(
    "learning-rate",
    id="learning-rate-constant-despite-schedule",
    title="the learning rate never changes although the config names a schedule",
    mode="silent-error",
    symptom_class="config-invalid",
    role="root",
    level="warning",
    within="optimizer",
    why="The schedule was made and never stepped, or the setting never reached the optimizer.",
    confirm=["Look for scheduler.step() in the loop, and print scheduler.get_last_lr() after some steps."],
    false_positives=["The rate that is logged is the one that was set, not the one in use."],
    references=["https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"],
    verified="source",
)
def learning_rate_constant_despite_schedule(
    entry: FileEvidence, series: Series, evidence: RunEvidence
) -> Iterator[Finding]:
    """Rates of one value from the first report to the last, over enough of the plan."""
    values = series.values
    planned, last = planned_end(evidence), max(series.steps)
    if len(values) < FEWEST_POINTS or values[0] <= 0 or min(values) != max(values) or not planned:
        return
    rounded = entry.artifact.kind == "log" and values[0] == float(f"{values[0]:.{ROUNDED}g}")
    schedule = next((one for one in evidence.settings if _is_moving(one)), None)
    if schedule is None or series.axis != "step" or last < (0.9 if rounded else MUST_HAVE_MOVED) * planned:
        return
    told = Evidence(path=schedule.path, key=schedule.key, value=str(schedule.value))
    found = series_finding(
        entry,
        series,
        0,
        learning_rate_constant_despite_schedule.info,
        title=f"{series.key} is {values[0]:.4g} in all reports although {schedule.key} is {schedule.value}",
        also=(len(values) - 1,),
    )
    yield found.model_copy(update={"evidence": (*found.evidence, told)})


def _is_moving(setting: Setting) -> bool:
    parts = [part for part in setting.key.split(".") if part.lower() not in {"type", "name"}]
    value = str(setting.value).removesuffix("LR").removesuffix("Annealing")
    return bool(parts and SCHEDULE.match(parts[-1]) and MOVING.match(value))


@run_detector(
    id="setting-warmup-longer-than-run",
    title="the warm-up that is set is longer than the run",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    why="It explains a learning rate that only rises.",
    confirm=["Number of optimizer steps: samples over batch size, accumulation and ranks, times epochs."],
    references=["https://huggingface.co/docs/transformers/main_classes/optimizer_schedules"],
    verified="run",
)
def setting_warmup_longer_than_run(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """A number of warm-up steps beyond the planned or last step."""
    found = setting_of(evidence, WARMUP_STEPS)
    end = planned_end(evidence)
    if found is not None and end is not None and found[1] > end:
        title = f"{found[0].key} is {found[1]:g}, the run has {end} steps"
        yield _of_setting(setting_warmup_longer_than_run.info, found[0], title)


@run_detector(
    id="setting-learning-rate-zero",
    title="the learning rate that is set is zero",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    why="It explains a learning rate of zero from the first step on.",
    confirm=["Where the value comes from: command line, sweep, or a default that the config overrides."],
    references=["https://docs.pytorch.org/docs/stable/optim.html"],
    verified="run",
)
def setting_learning_rate_zero(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """A learning rate of exactly zero in a config."""
    found = setting_of(evidence, LEARNING_RATE)
    if found is not None and found[1] == 0.0:
        yield _of_setting(setting_learning_rate_zero.info, found[0], f"{found[0].key} is {found[0].value}")


def _of_setting(info: RuleInfo, setting: Setting, title: str) -> Finding:
    told = Evidence(path=setting.path, key=setting.key, value=str(setting.value))
    return info.finding(Position(path=setting.path), (told,), title=title)
