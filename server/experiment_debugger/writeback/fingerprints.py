"""What a risk is known by, hidden at the end of its summary: `... <!-- ed:fp=0f3a91c2d0aa7b5e -->`."""

from __future__ import annotations

import hashlib
import re

_MARK = re.compile(r"\s*<!-- ed:fp=([0-9a-f]{8,64}) -->\s*$")


def without_mark(summary: str) -> tuple[str, str]:
    """The words of a summary, and the comment at its end ("" where there is none)."""
    found = _MARK.search(summary)
    return (summary[: found.start()], marked("", found[1])) if found else (summary, "")


def fingerprint_in(summary: str) -> str | None:
    """The fingerprint at the end of a summary."""
    found = _MARK.search(summary)
    return found[1] if found else None


def marked(summary: str, fingerprint: str) -> str:
    """The summary with its fingerprint."""
    return f"{summary} <!-- ed:fp={fingerprint} -->".strip()


def fingerprint_of_text(summary: str) -> str:
    """What a risk without a diagnosis is known by: its exact words; a number makes another risk."""
    words = " ".join(without_mark(summary)[0].casefold().split())
    return hashlib.sha256(f"text\n{words}".encode("utf-8", "replace")).hexdigest()[:16]
