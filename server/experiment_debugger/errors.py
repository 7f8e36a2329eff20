"""Errors that a user can act on.

Every message says what was expected, what was found and what to do, in one line. The surfaces print the message
and exit with code 2; anything that is not a `DebuggerError` is a bug of ours and exits with 70.
"""

from __future__ import annotations


class DebuggerError(Exception):
    """Base of all errors whose text is meant for the user."""


class RunNotFound(DebuggerError):
    """No run, or more than one different run, matches what was asked for."""


class UnreadableArtifact(DebuggerError):
    """A file exists and cannot be read as what it should be."""


class InvalidRule(DebuggerError):
    """A signature, cause or detector entry breaks its schema; the text names file and line."""


class PathOutsideProject(DebuggerError):
    """A path leaves the project, its artifact folders and the extra roots."""
