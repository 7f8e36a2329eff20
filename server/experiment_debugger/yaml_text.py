"""YAML that users wrote, as plain data; whatever is wrong with it is one `BrokenYaml` with its line.

    a: !!bool foo   ->   BrokenYaml("a value does not fit its tag (KeyError)")
    a: [1           ->   BrokenYaml("line 2: did not find expected ',' or ']'")

Rules and taxonomy are stricter, see `rules.strict_yaml`.
"""

from __future__ import annotations

from typing import Any


class BrokenYaml(ValueError):
    """What is wrong, and its 1-based line where the parser says so."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(f"line {line}: {problem}" if line else problem)
        self.problem, self.line = problem, line


def parse_yaml(text: str) -> Any:
    """The one document of this text; None when it is empty."""
    documents = parse_documents(text)
    if len(documents) > 1:
        raise BrokenYaml("expected a single document, found several")
    return documents[0] if documents else None


def parse_documents(text: str) -> list[Any]:
    """All documents of this text."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return list(yaml.load_all(text, Loader=loader))
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        raise BrokenYaml(getattr(problem, "problem", None) or "no YAML", mark.line + 1 if mark else None) from None
    except RecursionError:
        raise BrokenYaml("nested too deeply") from None
    except Exception as problem:  # noqa: BLE001 - constructors raise what the conversion raises: KeyError, TypeError, ...
        raise BrokenYaml(f"a value does not fit its tag ({type(problem).__name__})") from None
