"""The taxonomy in words: what a mode, cause or rule means, how to confirm it, and which fix only hides it."""

from __future__ import annotations

import difflib

from experiment_debugger.errors import DebuggerError
from experiment_debugger.models import MODE_ALIASES
from experiment_debugger.report.budget import TextAnswer, capacity, fit_lines
from experiment_debugger.rules.base import Cause, ModeInfo, RuleInfo, Signature
from experiment_debugger.rules.rulebook import Rulebook


def explain_answer(name: str, book: Rulebook, max_tokens: int) -> TextAnswer:
    """The entry of a mode, cause or rule as Markdown; raises `DebuggerError` with near names when there is none."""
    lines = entry_lines(name, book)
    text, left_out = fit_lines(lines, capacity(max_tokens) - OVERHEAD, _rest)
    counts = {"lines": left_out} if left_out else {}
    return TextAnswer(text, {"lines": len(lines) - left_out}, counts, _rest(left_out) if left_out else "")


OVERHEAD = 160
"""Bytes of the JSON form around the text."""


def entry_lines(name: str, book: Rulebook) -> list[str]:
    """The lines of one taxonomy entry."""
    name = MODE_ALIASES.get(name, name)
    if name in book.modes:
        return mode_lines(book.modes[name], book)
    if name in book.causes:
        return cause_lines(book.causes[name])
    info = book.info(name)
    if info is not None:
        return rule_lines(info, book)
    raise DebuggerError(_unknown(name, book))


def modes_index(book: Rulebook) -> str:
    """Every mode with what it means; its causes are one `explain` away."""
    return "\n".join(f"- {mode.id}: {mode.title}. {mode.means}" for mode in book.modes.values())


def mode_lines(mode: ModeInfo, book: Rulebook) -> list[str]:
    """A mode with its causes."""
    causes = [cause for cause in book.causes.values() if cause.mode == mode.id]
    return [
        f"# {mode.id} (mode)",
        mode.title,
        "",
        mode.means,
        mode.never,
        f"Cheapest test: {mode.cheapest_test}",
        *_list("Collect", mode.collect),
        *_list("Causes", [f"{cause.id}: {cause.text}" for cause in causes]),
    ]


def cause_lines(cause: Cause) -> list[str]:
    """A cause: how it shows, how to confirm it, the fix at the root and the tempting one."""
    next_skill = [f"Next skill: {cause.next_skill}"] if cause.next_skill else []
    return [
        f"# {cause.id} (cause of {cause.mode})",
        cause.text,
        "",
        f"Shows as: {cause.shows}",
        f"Confirm: {cause.confirm}",
        f"Fix at the root: {cause.fix}",
        f"Tempting, but it only hides it: {cause.tempting_fix}",
        *next_skill,
        *_joined("Supported by rules", cause.supported_by),
        *_joined("Needs one of", cause.requires),
        *_joined("Contradicted by", cause.contradicted_by),
        *_list("References", cause.references),
    ]


def rule_lines(rule: RuleInfo, book: Rulebook) -> list[str]:
    """A rule: what it recognises, what that means, and when it is wrong."""
    causes = [cause.id for cause in book.causes.values() if rule.id in cause.supported_by]
    symptom = book.symptoms.get(rule.symptom_class)
    means = f": {symptom.text}" if symptom else ""
    return [
        f"# {rule.id} (rule{f' of {rule.mode}' if rule.mode else ''})",
        rule.title,
        "",
        rule.why,
        f"Symptom class: {rule.symptom_class}{means} Role: {rule.role}. Level: {rule.level}. Kind: {rule.kind}.",
        *_list("Confirm", rule.confirm),
        *_list("Wrong when", rule.false_positives),
        *_joined("Speaks for causes", causes),
        *(_pattern_lines(rule) if isinstance(rule, Signature) else []),
        *_list(f"References (verified by {rule.verified})", rule.references),
    ]


def _pattern_lines(rule: Signature) -> list[str]:
    lines = _joined("Refines", rule.refines)
    return [*lines, *_list("Fires on", rule.examples.fires), *_list("Silent on", rule.examples.silent)]


def _list(title: str, items: tuple[str, ...] | list[str]) -> list[str]:
    return [f"{title}:", *(f"- {item}" for item in items)] if items else []


def _joined(title: str, items: tuple[str, ...] | list[str]) -> list[str]:
    return [f"{title}: {', '.join(items)}"] if items else []


def _rest(left_out: int) -> str:
    return f"({left_out} more lines; ask again with a larger max-tokens.)"


def _unknown(name: str, book: Rulebook) -> str:
    known = [*book.modes, *book.causes, *book.rule_ids()]
    near = difflib.get_close_matches(name, known, n=4, cutoff=0.5)
    near += [other for other in known if name and name in other and other not in near][: 4 - len(near)]
    hint = f"Near: {', '.join(near)}." if near else f"Modes are {', '.join(book.modes)}."
    return f"Expected a mode, cause or rule, found '{name}'. {hint}"
