"""Progress lines by learnt template: a log prints the same few shapes thousands of times.

    step    50/5000 loss 5.7725 lr 9.91e-04     ->     step#/# loss# lr#

The first line of a shape goes through the dialects; which of its numbers became step, epoch or loss is remembered as
the positions of equal numbers. The next lines of that shape are read by position alone. Where two numbers were equal,
both positions are kept, and a line in which they differ goes through the dialects once more and settles it.

Lines of own loops, whose numbers have names that nobody knows, are recognised by what they do: they count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from experiment_debugger.readers.dialects import DIGITS, NOT_FINITE, Report, read_counted, read_report

_VARYING = re.compile(rf"[ \t]*({DIGITS}|[-+]?(?<![A-Za-z_])(?:{NOT_FINITE})(?![A-Za-z_]))|[█▏▎▍▌▋▊▉#=>━╸─.]{{4,}}")
MOST_SHAPES = 300
"""Shapes remembered for one file; a log with more of them (hashes, free text) gains nothing from templates."""
REGULAR = 3
"""How often a line of unknown names must count upwards before it is taken for progress."""
_WHOLE = ("step", "total", "epochs", "at", "size")


@dataclass(slots=True)
class Template:
    """One shape: its model report, and for each field the positions that have agreed with it so far."""

    model: Report | None
    places: dict[str, set[int]]
    usable: bool = True


class ReportReader:
    """Reads the reports of one file, by template where the shape is known."""

    def __init__(self) -> None:
        self._templates: dict[str, Template] = {}
        self._counts: dict[str, tuple[int, int]] = {}

    def read(self, text: str) -> Report | None:
        """As `dialects.read_report`, faster."""
        shape = _VARYING.sub("#", text)
        template = self._templates.get(shape)
        if template is not None and template.usable:
            if template.model is None:
                return self._counted(shape, text) if shape in self._counts else None
            report = _applied(template, _VARYING.findall(text))
            if report is not None:
                return report
        report = read_report(text)
        self._learn(shape, text, report, template)
        return report if report is not None else self._counted(shape, text)

    def _counted(self, shape: str, text: str) -> Report | None:
        """A line of an own loop, once its shape has come REGULAR times with a growing count."""
        report = read_counted(text) if shape in self._counts or len(self._counts) < MOST_SHAPES else None
        if report is None or report.step is None:
            return None
        times, last = self._counts.get(shape, (0, -1))
        self._counts[shape] = times, last = (times + 1 if report.step > last else 1), report.step
        return report if times >= REGULAR else None

    def _learn(self, shape: str, text: str, report: Report | None, known: Template | None) -> None:
        if known is None and len(self._templates) >= MOST_SHAPES:
            return
        if report is None:
            self._templates[shape] = Template(None, {}, usable=known is None or known.model is None)
            return
        numbers = [_number(token) for token in _VARYING.findall(text)]
        places = {
            field: {index for index, number in enumerate(numbers) if _same(number, value)}
            for field, value in _fields(report).items()
        }
        if known is not None and known.model is not None:
            places = {field: found & known.places.get(field, found) for field, found in places.items()}
        usable = report.eta is None and all(places.values())
        self._templates[shape] = Template(report, places, usable)


def _fields(report: Report) -> dict[str, float]:
    """The numbers of a report by field; metrics by their key behind a dot."""
    whole = {name: float(value) for name in _WHOLE if (value := getattr(report, name)) is not None}
    if report.epoch is not None:
        whole["epoch"] = report.epoch
    return whole | {f".{key}": value for key, value in report.values.items()}


def _applied(template: Template, tokens: list[str]) -> Report | None:
    """The report at the template's positions, or None when positions that used to agree differ here."""
    model = template.model
    if model is None:
        return None
    found: dict[str, float] = {}
    for field, places in template.places.items():
        values = [_number(tokens[place]) for place in places]
        first = values[0]
        if first is None or any(not _same(value, first) for value in values[1:]):
            return None
        found[field] = first
    report = replace(model, values={field[1:]: value for field, value in found.items() if field[0] == "."})
    report.epoch = found.get("epoch")
    for name in _WHOLE:
        setattr(report, name, int(found[name]) if name in found else None)
    return report


def _number(token: str) -> float | None:
    try:
        return float(token.replace(",", ""))
    except ValueError:
        return None


def _same(number: float | None, value: float) -> bool:
    return number is not None and (number == value or (number != number and value != value))  # noqa: PLR0124 - NaN
