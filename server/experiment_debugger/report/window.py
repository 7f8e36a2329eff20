"""A window of a log as text: numbered lines in one fence, what stands outside of it, and how to get there.

logs/run-42.log lines 300-340 of 18231
300| step 18389 loss 2.31
"""

from __future__ import annotations

from collections.abc import Sequence

from experiment_debugger.report.budget import TextAnswer, capacity
from experiment_debugger.report.quoting import counted, fence, one_line, verbatim_line, word
from experiment_debugger.window import LogWindow, WindowLine

LINE_WIDTHS = (400, 240, 120)
"""Long lines are shortened before lines are left out: a window with gaps is harder to read."""


def window_answer(window: LogWindow, max_tokens: int) -> TextAnswer:
    """The window fitted into the budget: first shorter lines, then fewer, nearest to the centre kept."""
    cap, count = capacity(max_tokens), len(window.lines)
    for width in LINE_WIDTHS:
        answer = _build(window, _nearest(window, count), width)
        if answer.size() <= cap:
            return answer
    low, high = 0, count
    while low < high:
        middle = (low + high + 1) // 2
        if _build(window, _nearest(window, middle), LINE_WIDTHS[-1]).size() <= cap:
            low = middle
        else:
            high = middle - 1
    return _build(window, _nearest(window, low), LINE_WIDTHS[-1])


def _nearest(window: LogWindow, count: int) -> list[WindowLine]:
    """`count` lines, the ones nearest to the centre (without one: the first)."""
    lines = list(window.lines)
    if window.center is None:
        return lines[:count]
    center = window.center
    chosen = sorted(lines, key=lambda line: abs(line.number - center))[:count]
    return sorted(chosen, key=lambda line: line.number)


def _build(window: LogWindow, lines: Sequence[WindowLine], width: int) -> TextAnswer:
    head = [f"{one_line(window.path)} {_span(lines, window.total)}"]
    if window.note:
        head.append(one_line(window.note, 400))
    left_out = window.total - len(lines)
    more = _more(window, lines) if left_out else ""
    body = fence(f"{line.number}| {verbatim_line(line.text, width)}" for line in lines)
    tail = [f"Left out: {counted(left_out, 'lines')}. {more}"] if left_out else []
    counts = {"lines": left_out} if left_out else {}
    return TextAnswer("\n".join([*head, *body, *tail]), {"lines": len(lines)}, counts, more)


def _span(lines: Sequence[WindowLine], total: int) -> str:
    """Where the window stands; with gaps between its lines it holds the matches of a pattern."""
    if not lines:
        return f"no lines of {total}"
    first, last = lines[0].number, lines[-1].number
    return f"lines {first}-{last} of {total}" if last - first + 1 == len(lines) else f"{len(lines)} of {total} lines"


def _more(window: LogWindow, lines: Sequence[WindowLine]) -> str:
    ask = f"read-run-logs {word(window.run_id)}"
    if window.cursor is None:
        return f"Elsewhere: {ask} --path {word(window.path)} --around LINE"
    cursor = f"{window.path}:{lines[-1].number + 1}" if lines else window.cursor
    return f"Next: {ask} --cursor {word(cursor)}"
