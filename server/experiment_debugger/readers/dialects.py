r"""Where a progress report says it is, and which numbers it carries, in the dialects of the frameworks.

{'loss': 0.659, 'grad_norm': 1.2, 'learning_rate': 2.7e-05, 'epoch': 0.33}              HF Trainer
  2%|▎   | 150/5400 [00:30<17:51,  4.90it/s]                                            tqdm
Epoch 41:  23%|██▍  | 75/313 [00:04<00:15, 15.31it/s, v_num=6, train/kl=3.87e+16]       Lightning
 3/790 [....] - ETA: 04:03 - loss: nan - accuracy: 0.0000e+00                           Keras 2
200/927 ━━━━━━━ 14s 71ms/step - accuracy: 0.19 - loss: 4.00                             Keras 3
 iteration    20700/   95000 | ... | lm loss: 2.1E+00 | loss scale: 1.0 | grad norm: 1  Megatron
epoch 001:     50 / 1676 loss=10.2, nll_loss=9.1, num_updates=50, gnorm=2607.66         fairseq
Epoch(train)  [20][250/380]  lr: 2.5e-04  time: 0.25  data_time: 0.01  loss: 0.72       mmengine
Train Epoch: 27 [ 1664000/10019840 (16%)] Loss: nan (nan) LR: 0.000028                  open_clip: samples, not steps
     1/39     4.21G   0.08515    0.0391   0.02287        46       640                   ultralytics
Epoch: [9][ 125/1250]  Time 0.240 ( 0.250)  Loss 1.3138e+00 (1.3165e+00)                torchvision, timm
Training  [ 1250/125000]  eta: 16:40:00  lr: 0.0040 (0.0040)  total_loss: 9.1 (9.3)     DINO, MAE
[50]\ttrain's auc: 0.803072\tval's auc: 0.757474                                         LightGBM, XGBoost
step    50/5000 loss 5.77 lr 9.9e-04                                                    plain loops
  60  bce=0.41 acc 0.8                                                                  a bare count in front
{"step": 3, "train": {"mse": NaN}, "val": {"mse": 0.4}}                                 nested JSON lines
Accuracy of the network on the 10000 test images: 54 %                                  PyTorch's tutorials
 966: 3.41, 2.87 avg loss, 0.000871 rate, 0.12 seconds, 966 images                       darknet
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from experiment_debugger.readers.columns import meaning_of, number_of
from experiment_debugger.readers.json_rows import flattened, parsed
from experiment_debugger.readers.roles import role_of

DIGITS = r"[-+]?(?:\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)"
NOT_FINITE = r"[nN]a[nN]|[iI]nf(?:inity)?|NAN|INF"
NUMBER = rf"(?:{DIGITS}|[-+]?(?:{NOT_FINITE}))"
_PAIR = re.compile(
    r"(?P<key>(?:(?:[Tt]rain|[Vv]al(?:id(?:ation)?)?|[Ee]val|[Tt]est) )?[A-Za-z_][\w./@%()\-]*(?: (?:loss|norm|rate|scale|entropy))?)['\"]?\s*(?:[:=]\s*|\s+)(?:tensor\()?\[?['\"]?(?P<value>"
    + NUMBER
    + r")(?![\w/]|\.\d|:\d)"
)
_COUNTED = re.compile(
    r"(?:global[_ ]?step|num_updates|\bsteps?|\biter(?:ation)?s?(?:\(\w+\))?|\bit|\bupdates?|\bbatch)"
    r"['\"]?[ :='\"#\[]*(?P<step>\d[\d,]*)(?:\s*(?:/|of)\s*(?P<total>\d[\d,]*))?(?![\w.%]|\s*it/s)",
    re.IGNORECASE,
)
_GLOBAL = re.compile(r"(?:global[_ ]?step|num_updates)['\"]?[ :='\"]*(?P<step>\d+)", re.IGNORECASE)
_BAR = re.compile(r"(?P<step>\d+)/(?P<total>\d+|Unknown) (?:\[(?:\d+:\d\d|[.=>\-]{5})|(?:[━╸─ ]{0,40}|- )\d+m?s )")
_BRACKET = re.compile(r"\[\s*(?P<step>\d+)\s*/\s*(?P<total>\d+)\]\s+(?:eta|time|loss)\b", re.IGNORECASE)
_LEADING = re.compile(r"^\s*(?P<step>\d{1,9})(?:[:|,]|\s+[|-])?\s+(?=[A-Za-z_])")
_NESTED = re.compile(r'^\s*\{".*": ?\{"')
_ACCURACY_OF = re.compile(
    rf"\b(?P<key>accuracy)\b(?P<of> (?:of|on|over|for)\b[^:=%]{{1,80}}[:=]| \([\w -]{{1,30}}\)[:=]) *(?P<value>{NUMBER}) ?%",
    re.IGNORECASE,
)
_BOOSTING = re.compile(r"^\[(?P<step>\d+)\]\t")
_SAMPLES = re.compile(r"\[\s*\d+/\d+ \(\d+(?:\.\d+)?%\)\]")
_IN_EPOCH = re.compile(r"\bepoch\W{0,3}\d+\W{1,3}(?:batch|iter\w*|step)\b", re.IGNORECASE)
_WITHIN_EPOCH = re.compile(
    r"""(?xi)
    \[\s*(?:epoch\s*)?(?P<epoch1>\d+)(?:/(?P<epochs1>\d+))?\]\s*\[\s*(?:batch\ |iter\ )?(?P<at1>\d+)\s*/\s*(?P<size1>\d+)\]
  | (?:epoch|\bep?)[:\ =]*\[?(?P<epoch2>\d+)(?:/(?P<epochs2>\d+))?\]?[:,]?\s+
    (?:\[\s*|train[\ ,]+|iter\w*[\ :]*|it[\ :]+|batch[\ :]*|step[\ :]*)*(?P<at2>\d+)\s*/\s*(?P<size2>\d+)
    """
)
_EPOCH = re.compile(
    r"(?:\bepochs?|\bep)['\"]?[ :='\"\[(]*(?:train\)\s*\[)?\s*(?P<epoch>\d+(?:\.\d+)?)(?:\s*/\s*(?P<epochs>\d+))?",
    re.IGNORECASE,
)
_ETA = re.compile(r"\beta[:=]? ?(?:(?P<d>\d+) days?, )?(?P<h>\d+):(?P<m>\d\d):(?P<s>\d\d)", re.IGNORECASE)
_RATE = re.compile(r"(?<![\w.])(?P<value>\d+(?:\.\d+)?) ?(?P<unit>(?:it|steps?)/s|(?:m?s|sec)/(?:it|step))(?![\w/])")
_DURATION = re.compile(
    r"(?<![\w+./-])(?P<key>first[ _]batch|[A-Za-z_][\w+./-]*)(?: after| in| took)?[:=]? ?(?P<value>\d+(?:\.\d+)?) ?(?P<unit>ms|s|sec)(?![\w/])"
)
_DARKNET = re.compile(rf"^\s*(?P<step>\d+): (?P<loss>{NUMBER}), (?P<average>{NUMBER}) avg(?: loss)?, ")
_ULTRALYTICS = re.compile(r"^\s*(?P<epoch>\d+)/(?P<epochs>\d+)\s+[\d.]+G\s+(?P<numbers>[\d.naif\s]+?)\s+\d+\s+\d+:")

_EVALUATION = re.compile(
    r"\b(?:val(?:id(?:ation)?)?|eval(?:uation|uating)?|test(?:ing)?|dev)\b|Epoch\(val\)|Validation|'eval_|\"valid_",
    re.IGNORECASE,
)
_TRAINING = re.compile(r"train", re.IGNORECASE)
_NOT_TRAINING = re.compile(
    r"'train_runtime'|^\s*train_loss\s+=|\bbest\b|download|Loading checkpoint shards|\bMap\b:?|Filter:|Tokeniz|Extracting"
    r"|Fetching|Generating|Casting|Saving|B/s[\],]",
    re.IGNORECASE,
)
FEWEST_NAMES = 1
"""Named numbers that a counted line must exceed to be a report of an own loop: the count itself and one more."""
_TEXT_WORD = re.compile(r"[A-Za-z][\w./]+")
_TEXT_NUMBER = re.compile(r"\d[\d.,:e+-]*")
MOST_WORDS = 2
"""Words a number in a line of unknown names; prose has more, and its numbers are no metrics."""
OUTCOME_ROLES = frozenset({"loss", "eval-loss", "grad-norm", "metric"})
"""One of them tells a report that is a dict from the dict of a config, which holds a learning rate as well."""
LEARNING_ROLES = OUTCOME_ROLES | {"learning-rate"}
TIME_ROLES = frozenset({"data-time", "step-time"})


@dataclass(slots=True)
class Report:
    """One progress report: position and numbers. `at`/`size` count within an epoch, `step`/`total` over the run."""

    values: dict[str, float]
    evaluation: bool
    step: int | None = None
    total: int | None = None
    epoch: float | None = None
    epochs: int | None = None
    at: int | None = None
    size: int | None = None
    eta: float | None = None
    is_dict: bool = False
    is_bar: bool = False
    """Step and total come from a bar alone: they may count within an epoch that a line above has named."""
    only_memory: bool = False
    """A report of memory at some step, or of a wait in an epoch, which is no sign that training goes on."""

    @property
    def is_placed(self) -> bool:
        """Whether the text itself says where in training it stands."""
        return self.step is not None or self.epoch is not None or self.at is not None or self.is_dict


def read_bar(text: str) -> tuple[int, int] | None:
    """(done, total) of a progress bar; a total that the bar does not know yet is 0."""
    bar = _BAR.search(text)
    return (int(bar["step"]), 0 if bar["total"] == "Unknown" else int(bar["total"])) if bar else None


def read_report(text: str) -> Report | None:
    """The numbers of training or evaluation in one segment of a log line and where they stand, or None."""
    if _NOT_TRAINING.search(text):
        return None
    yolo = _ULTRALYTICS.match(text)
    if yolo:
        return _ultralytics(yolo, text)
    darknet = _DARKNET.match(text)
    if darknet:
        values = {"loss": _to_number(darknet["loss"]), "avg loss": _to_number(darknet["average"])}
        return Report(values, evaluation=False, step=int(darknet["step"]))
    values = _nested(text) if _NESTED.match(text) else dict(_pairs(text))
    roles = {role_of(key) for key in values}
    timed = _durations(text)
    only_memory = not roles & LEARNING_ROLES and "sec/step" not in text
    if only_memory and "memory" not in roles and not timed:
        return None
    evaluation = bool(_EVALUATION.search(text)) and not _TRAINING.search(text[:60])
    report = Report(
        {**values, **timed, **_rates(text)}, evaluation, is_dict="{" in text and ("'" in text or '"' in text)
    )
    _place(report, text)
    if report.is_dict and report.step is None and not roles & OUTCOME_ROLES:
        return None
    report.only_memory = only_memory and (report.step is None or not timed)
    return None if report.only_memory and report.step is None and not (timed and report.is_placed) else report


def read_counted(text: str) -> Report | None:
    """A line of an own loop that counts steps and prints numbers under names nobody knows."""
    if _NOT_TRAINING.search(text) or not _COUNTED.search(text):
        return None
    named = {found["key"]: _to_number(found["value"]) for found in _PAIR.finditer(text)}
    is_prose = len(_TEXT_WORD.findall(text)) > MOST_WORDS * len(_TEXT_NUMBER.findall(text))
    metrics = {} if is_prose else {key: value for key, value in named.items() if meaning_of(key) == "value"}
    report = Report(metrics, evaluation=False)
    _place(report, text)
    return report if report.step is not None and len(named) > FEWEST_NAMES else None


def _place(report: Report, text: str) -> None:
    """Fill in where the report stands, the most explicit statement first."""
    eta = _ETA.search(text)
    if eta:
        report.eta = int(eta["d"] or 0) * 86400.0 + int(eta["h"]) * 3600 + int(eta["m"]) * 60 + int(eta["s"])
    epoch = _EPOCH.search(text)
    if epoch:
        report.epoch = float(epoch["epoch"])
        report.epochs = int(epoch["epochs"]) if epoch["epochs"] else None
    if not _SAMPLES.search(text):
        _place_step(report, text)


def _place_step(report: Report, text: str) -> None:
    explicit = _GLOBAL.search(text)
    within = None if explicit else _WITHIN_EPOCH.search(text)
    bar = read_bar(text)
    if explicit:
        report.step = int(explicit["step"])
    elif within:
        form = "1" if within["epoch1"] else "2"
        epochs = within["epochs" + form]
        report.epoch, report.epochs = float(within["epoch" + form]), int(epochs) if epochs else report.epochs
        report.at, report.size = int(within["at" + form]), int(within["size" + form])
    elif bar and report.epoch is not None and report.epoch.is_integer():
        report.at, report.size = bar
    elif (counted := _COUNTED.search(text)) is not None:
        _place_counted(report, counted, text)
    elif bar:
        report.step, report.total, report.is_bar = *bar, True
    else:
        _place_bare(report, text)


def _place_counted(report: Report, counted: re.Match[str], text: str) -> None:
    """`step 50/5000`, or `Epoch 3, batch 220` where the count starts anew in every epoch."""
    number = int(_to_number(counted["step"]))
    if _IN_EPOCH.search(text) and not counted["total"]:
        report.at = number
        return
    report.step, report.total = number, int(_to_number(counted["total"])) if counted["total"] else None


def _place_bare(report: Report, text: str) -> None:
    """Counts that no word introduces."""
    bracket = _BRACKET.search(text)
    boosting = _BOOSTING.match(text)
    leading = _LEADING.match(text)
    if bracket:
        report.step, report.total = int(bracket["step"]), int(bracket["total"])
    elif boosting:
        report.step = int(boosting["step"])
    elif leading and _names_learning(text, leading.end()):
        report.step = int(leading["step"])


def _names_learning(text: str, start: int) -> bool:
    """Whether the first thing named from here on is a quantity of learning: `60  bce=0.41`, not `60 files, loss 2`."""
    pair = _PAIR.match(text, start)
    return pair is not None and role_of(pair["key"]) in LEARNING_ROLES


def _pairs(text: str) -> Iterator[tuple[str, float]]:
    for found in _PAIR.finditer(text):
        key = found["key"]
        if role_of(key) is not None:
            yield key, _to_number(found["value"])
    share = _ACCURACY_OF.search(text)
    if share:
        yield ("test " if _EVALUATION.search(share["of"]) else "") + share["key"].lower(), _to_number(share["value"])


def _nested(text: str) -> dict[str, float]:
    """The numbers of nested JSON under joined keys, `train.mse`; an object that was cut short has none."""
    row = parsed(text)
    leaves = flattened(row) if isinstance(row, dict) else ()
    numbers = {key: number for key, value in leaves if (number := number_of(value)) is not None}
    return {key: number for key, number in numbers.items() if role_of(key) is not None}


def _durations(text: str) -> dict[str, float]:
    """`data 8.1s fwd 2.3s`, `dt: 210ms`, `first batch after 11.16 s`: all of a line of which one is known by its name."""
    found = {
        one["key"] + ("_ms" if one["unit"] == "ms" else ""): float(one["value"]) for one in _DURATION.finditer(text)
    }
    known = any(role_of(key) in TIME_ROLES or key.startswith(("first batch", "first_batch")) for key in found)
    return found if known else {}


def _rates(text: str) -> dict[str, float]:
    """The speed that a bar or a line names by its unit alone: `8.34it/s`, `4.50 sec/step`."""
    found = _RATE.search(text)
    return {found["unit"]: float(found["value"])} if found else {}


def _to_number(text: str) -> float:
    return float(text.replace(",", ""))


def _ultralytics(found: re.Match[str], text: str) -> Report:
    numbers = found["numbers"].split()
    values = {f"loss[{index}]": float(number) for index, number in enumerate(numbers)}
    values |= _rates(text)
    return Report(values, evaluation=False, epoch=float(found["epoch"]), epochs=int(found["epochs"]))


_BAR_STARTS = re.compile(r"Epoch \d+(?:/\d+)?:\s+\d+%|(?<=\S)\s+\d+/\d+ \[[.=>]")


def split_bars(segment: str) -> Iterator[str]:
    """The reports of a segment that holds several bars without a \\r between them (captured consoles)."""
    several = segment.count("%|") > 1 or segment.count(" [") > 1
    marks = [found.start() for found in _BAR_STARTS.finditer(segment)] if several else []
    if len(marks) < 2:
        yield segment
        return
    for start, end in zip([0, *marks[1:]], [*marks[1:], len(segment)], strict=True):
        yield segment[start:end]
