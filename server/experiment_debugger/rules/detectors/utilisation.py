"""What GPU and CPU did meanwhile: facts that speak for or against a slow loader, a slow device, a small batch.

    # gpu    pwr  gtemp     sm   pclk           timestamp, temperature.gpu, utilization.gpu [%], clocks.current.sm [MHz]
        0    237     64     98   1800           2022/07/27 19:12:00.691, 86, 97 %, 1508 MHz
        0     79     61      0   1770           2022/07/27 19:12:30.789, 87, 99 %, 615 MHz

None of this is a failure by itself. The limits are those of SageMaker's profiler rules where it has any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from experiment_debugger.evidence import FileEvidence, RunEvidence
from experiment_debugger.models import Finding
from experiment_debugger.readers.series import Series
from experiment_debugger.rules.base import run_detector, series_detector
from experiment_debugger.rules.curves import finite, median
from experiment_debugger.rules.rulebook import Rulebook
from experiment_debugger.rules.series import series_finding

PROFILER_RULES = "https://docs.aws.amazon.com/sagemaker/latest/dg/debugger-built-in-profiler-rules.html"
FEWEST_SAMPLES = 20
MOST_SAMPLES = 20_000
"""Samples of one series that are looked at, evenly picked."""
UNDERUSED = 70.0
"""Per cent, 95th percentile: LowGPUUtilization and BatchSize."""
IDLE = 10.0
"""Per cent: LowGPUUtilization's 5th percentile (fluctuation), CPUBottleneck's idle GPU."""
SATURATED = 90.0
"""Per cent of the CPU: CPUBottleneck."""
HALF = 0.5
"""Share of the samples in which both must hold (CPUBottleneck), and share of mass (LoadBalancing)."""
BUSY = 80.0
"""Per cent: an idle GPU lowers its clock to save power, a busy one does not."""
CLOCK_DROP = 0.8
"""Of the usual clock while busy; boost clocks move by less."""
LASTING = 5
"""Busy samples in a row, to the end of the watch."""
HOT = 83.0
"""Degrees Celsius: the slowdown of data-centre cards begins between 83 and 90."""


def _level(values: Sequence[float], share: float) -> float:
    """The percentile of values, by rank."""
    return sorted(values)[round(share * (len(values) - 1))]


def _samples(series: Series) -> list[float]:
    step = max(1, len(series) // MOST_SAMPLES)
    return [series.values[index] for index in finite(series)[::step]]


@series_detector(
    "gpu-utilisation",
    id="gpu-utilisation-low",
    title="the GPU is idle a good part of the time",
    symptom_class="observation",
    role="context",
    level="info",
    why="Something else is slower: the loader, the host, communication, or steps that are too small.",
    confirm=["Data time next to step time; samples per second against the batch size."],
    false_positives=["Long evaluations and checkpoints, notebooks that wait for their user."],
    references=[PROFILER_RULES],
    verified="source",
)
def gpu_utilisation_low(entry: FileEvidence, series: Series, evidence: RunEvidence) -> Iterator[Finding]:
    """A 95th percentile below 70 %, or one above it with a 5th percentile below 10 %."""
    values = _samples(series)
    if len(values) < FEWEST_SAMPLES or max(values) <= 0:
        return
    high, low, mean = _level(values, 0.95), _level(values, 0.05), sum(values) / len(values)
    if high < UNDERUSED or (low < IDLE and mean < UNDERUSED):
        how = (
            f"stays below {high:.0f} %" if high < UNDERUSED else f"goes up and down between {low:.0f} and {high:.0f} %"
        )
        index = next(at for at in finite(series) if series.values[at] <= median(values))
        title = f"GPU utilisation {how}, {mean:.0f} % on average ({series.key})"
        yield series_finding(entry, series, index, gpu_utilisation_low.info, title=title)


@run_detector(
    id="cpu-bottleneck",
    title="the CPU is saturated while the GPU has nothing to do",
    symptom_class="observation",
    role="context",
    level="warning",
    needs=["series"],
    why="Decoding, augmentation or Python work needs more cores than the job has.",
    confirm=["Cores of the job (nproc inside it) and top: which process uses them?"],
    references=[PROFILER_RULES],
    verified="source",
)
def cpu_bottleneck(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Sources in which the GPU is below 10 % and the CPU above 90 % in half of the samples."""
    for entry, cpu in evidence.series("cpu-utilisation"):
        gpus = [one for one in entry.series if one.role == "gpu-utilisation" and len(one) == len(cpu)]
        for gpu in gpus if len(cpu) >= FEWEST_SAMPLES else ():
            starved = [at for at in range(len(cpu)) if cpu.values[at] > SATURATED and gpu.values[at] < IDLE]
            if len(starved) > HALF * len(cpu):
                title = (
                    f"CPU above {SATURATED:.0f} % and GPU below {IDLE:.0f} % in {len(starved)} of {len(cpu)} samples"
                )
                yield series_finding(entry, cpu, starved[0], cpu_bottleneck.info, title=title)


@run_detector(
    id="gpu-underused",
    title="neither CPU nor GPU nor GPU memory is used much",
    symptom_class="observation",
    role="context",
    level="info",
    needs=["series"],
    why="Steps may be too small for the device: launches and Python take longer than the work.",
    confirm=["Samples per second at twice the batch: does it rise?"],
    references=[PROFILER_RULES],
    verified="source",
)
def gpu_underused(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """Sources whose CPU, GPU and GPU memory stay below 70 % (95th percentile), all in per cent."""
    for entry, gpu in evidence.series("gpu-utilisation"):
        cpu = next((one for one in entry.series if one.role == "cpu-utilisation"), None)
        memory = next((one for one in entry.series if one.role == "memory" and _is_share(one)), None)
        if cpu is None or memory is None or len(gpu) < FEWEST_SAMPLES:
            continue
        if all(_level(_samples(one) or [100.0], 0.95) < UNDERUSED for one in (gpu, cpu, memory)):
            yield series_finding(entry, gpu, 0, gpu_underused.info, title=gpu_underused.info.title)


def _is_share(series: Series) -> bool:
    return "byte" not in series.key.lower() and "[" not in series.key and max(series.values) <= 100.0


@run_detector(
    id="gpu-load-unbalanced",
    title="one GPU works much less or more than the others",
    symptom_class="observation",
    role="context",
    level="info",
    needs=["series"],
    why="Work or data is not shared equally, or one process waits for the others.",
    confirm=["Which rank uses that GPU, and how many samples does it get?"],
    references=[PROFILER_RULES],
    verified="source",
)
def gpu_load_unbalanced(evidence: RunEvidence, book: Rulebook) -> Iterator[Finding]:
    """GPUs of one source whose histogram of utilisation differs from that of all others by more than half."""
    for entry in (*evidence.files, *evidence.numbers):
        gpus = [one for one in entry.series if one.role == "gpu-utilisation" and len(one) >= FEWEST_SAMPLES]
        shapes = [_histogram(_samples(one)) for one in gpus]
        for at, gpu in enumerate(gpus):
            others = [shape for other, shape in enumerate(shapes) if other != at]
            if others and all(_distance(shapes[at], shape) > HALF for shape in others):
                title = (
                    f"{gpu.key} of GPU {gpu.rank if gpu.rank is not None else at} differs from the other {len(others)}"
                )
                yield series_finding(entry, gpu, 0, gpu_load_unbalanced.info, title=title)


def _histogram(values: Sequence[float]) -> dict[int, float]:
    counts: dict[int, float] = defaultdict(float)
    for value in values:
        counts[int(value // 10)] += 1 / len(values)
    return counts


def _distance(one: dict[int, float], other: dict[int, float]) -> float:
    """Half the sum of differences: 0 for equal histograms, 1 for disjoint ones."""
    return sum(abs(one.get(place, 0.0) - other.get(place, 0.0)) for place in {*one, *other}) / 2


@series_detector(
    "gpu-clock",
    id="gpu-clock-dropped",
    title="the clock of a busy GPU fell and stayed low",
    symptom_class="observation",
    role="context",
    level="warning",
    why="The driver lowers the clock for heat, for the power limit or for a fault of the power supply.",
    confirm=["nvidia-smi -q -d PERFORMANCE,CLOCK,TEMPERATURE: which slowdown is active?"],
    references=["https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html"],
    verified="source",
)
def gpu_clock_dropped(entry: FileEvidence, series: Series, evidence: RunEvidence) -> Iterator[Finding]:
    """A clock that stays well below its usual value although the GPU is busy."""
    load = _companion(entry, series, "gpu-utilisation")
    busy = [at for at in finite(series) if load is not None and load.values[at] >= BUSY]
    if len(busy) < FEWEST_SAMPLES:
        return
    usual = _level([series.values[at] for at in busy], 0.9)
    low = [at for at in busy if series.values[at] < CLOCK_DROP * usual]
    high = [at for at in busy if series.values[at] >= CLOCK_DROP * usual]
    lasting = [at for at in low if at > high[-1]] if high else []
    clear = len(low) > HALF * sum(at >= low[0] for at in busy) if low else False
    if clear and (len(lasting) >= LASTING or len(low) >= 2 * LASTING):
        level = median([series.values[at] for at in low])
        title = f"{series.key} of the busy GPU fell from usually {usual:g} to a median of {level:g}"
        yield series_finding(entry, series, low[0], gpu_clock_dropped.info, title=title, also=(low[0] - 1,))


@series_detector(
    "gpu-temperature",
    id="gpu-temperature-high",
    title="the GPU is as hot as its slowdown begins",
    symptom_class="observation",
    role="context",
    level="info",
    why="Many cards run there for years; it matters when the clock falls at the same time.",
    confirm=["Throttle reasons: SW or HW thermal slowdown active?"],
    references=["https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html"],
    verified="source",
)
def gpu_temperature_high(entry: FileEvidence, series: Series, evidence: RunEvidence) -> Iterator[Finding]:
    """Temperatures above 83 degrees in several samples."""
    hot = [at for at in finite(series) if series.values[at] >= HOT]
    if len(hot) >= LASTING:
        hottest = max(hot, key=lambda at: series.values[at])
        title = f"{series.key} reaches {series.values[hottest]:g} degrees"
        yield series_finding(entry, series, hot[0], gpu_temperature_high.info, title=title, also=(hottest,))


def _companion(entry: FileEvidence, series: Series, role: str) -> Series | None:
    """The series of another quantity of the same GPU, sampled at the same times."""
    return next(
        (one for one in entry.series if one.role == role and one.rank == series.rank and len(one) == len(series)), None
    )
