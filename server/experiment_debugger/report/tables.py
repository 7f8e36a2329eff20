"""Render the rule and cause tables into the generated block of a reference file.

    python -m experiment_debugger.report.tables references/coverage.md

Only the text between the two markers is replaced; the prose around it is written by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

from experiment_debugger.errors import DebuggerError
from experiment_debugger.rules.base import Cause, RuleInfo
from experiment_debugger.rules.rulebook import Rulebook, load_rulebook

BEGIN = "<!-- generated:begin -->"
END = "<!-- generated:end -->"
NO_MODE = "context"


def render(book: Rulebook) -> str:
    """The block: per mode its causes and its rules; `explain ID` has the rest."""
    rules = [info for rule in book.rule_ids() if (info := book.info(rule)) is not None]
    parts = []
    for mode in (*book.modes, NO_MODE):
        causes = sorted((cause for cause in book.causes.values() if cause.mode == mode), key=lambda cause: cause.id)
        parts += _section(mode, causes, [info for info in rules if (info.mode or NO_MODE) == mode])
    return "\n".join(parts)


def rendered(text: str, book: Rulebook) -> str:
    """The text of a reference file with its block rendered again."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise DebuggerError(f"Expected the markers {BEGIN} and {END}, found not both; add them.")
    return f"{head}{BEGIN}\n{render(book)}\n{END}{tail}"


def main() -> int:
    """Render the files that are named."""
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(rendered(path.read_text(encoding="utf-8"), load_rulebook()), encoding="utf-8", newline="\n")
    return 0


def _section(mode: str, causes: list[Cause], rules: list[RuleInfo]) -> list[str]:
    lines = [f"### {mode}", ""]
    if causes:
        lines += ["| cause | what it is |", "|---|---|"]
        lines += [f"| `{cause.id}` | {_cell(cause.text)} |" for cause in causes]
        lines.append("")
    if rules:
        lines += ["| rule | what it sees | symptom class |", "|---|---|---|"]
        lines += [f"| `{rule.id}` | {_cell(rule.title)} | {rule.symptom_class} |" for rule in rules]
        lines.append("")
    return lines if causes or rules else []


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    sys.exit(main())
