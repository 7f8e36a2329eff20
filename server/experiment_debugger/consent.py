"""Asking the user, over MCP, before a verb starts a command; with mcp_server.py the only module that imports mcp.

    Run this command, each for at most 45 s?
      bash jobs/42.sh
    from jobs/42.sh, in a copy at the run's commit 1f3c9ab2d001 (jobs/42.yaml:3), until step 330 of its log.

Both protocol eras go through the SDK's resolvers. The question depends on the arguments only and may be computed in
several rounds; an answer counts for exactly the text that was shown. Consent is never an argument.
"""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio.from_thread
from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import build_resolver_plans
from pydantic import BaseModel, Field

from experiment_debugger.api import ALLOW_RUN
from experiment_debugger.command import CALL, NOBODY, Call, Command
from experiment_debugger.errors import DebuggerError
from experiment_debugger.redaction import redact
from experiment_debugger.report.budget import error_line, speakable

PROGRESS_SECONDS = 1.0
NOT_ASKED = (
    f"Not run: this client cannot ask the user. Show them the command; whoever runs the server may set {ALLOW_RUN}=1."
)


class Question(BaseModel):
    """What is asked; None where the call would start nothing."""

    text: str | None = None


class Consent(BaseModel):
    """The form that the user sees."""

    run: bool = Field(description="Run this command now?")


class NothingToAsk(Consent):
    """The call starts nothing: it polls or ends an earlier test."""

    run: bool = True


class NoWayToAsk(Consent):
    """The client cannot show a question."""

    run: bool = False


class Asking:
    """The resolvers of one verb, in the form that the SDK keeps them in."""

    def __init__(self, command: Command) -> None:
        question = _question_of(command)

        def consent(asked: Question, context: Context[Any, Any]) -> Consent | Elicit[Consent]:
            if asked.text is None:
                return NothingToAsk()
            return Elicit(asked.text, Consent) if _can_ask(context) else NoWayToAsk()

        names = [parameter.argument for parameter in command.of("mcp")]
        _sign(question, dict.fromkeys(names))
        _sign(consent, {"asked": _annotated(Question, question), "context": Context[Any, Any]})
        self.resolved: dict[str, Any] = {
            "question": (Resolve(question), False),
            "consent": (Resolve(consent), True),
        }
        self.plans = build_resolver_plans(self.resolved, set(names))


def call_agreed(context: Context[Any, Any], question: Question, consent: ElicitationResult[Consent]) -> Call:
    """The call that the user agreed to; raises `ToolError` when nobody did."""
    match consent:
        case AcceptedElicitation(data=NothingToAsk()):
            pass
        case AcceptedElicitation(data=NoWayToAsk()):
            if os.environ.get(ALLOW_RUN) != "1":  # the operator's setting, never an argument
                raise ToolError(f"{NOT_ASKED}\n{redact(question.text or '')}")
        case AcceptedElicitation(data=Consent(run=True)):
            pass
        case _:
            raise ToolError("Not run: the user did not agree.")
    return Call(consent=True, agreed=question.text, progress=_reporter(context), cancelled=threading.Event())


def _question_of(command: Command) -> Callable[..., Question]:
    ask = command.question
    assert ask is not None  # noqa: S101 (only verbs with a question come here)

    def question(**values: Any) -> Question:
        CALL.set(NOBODY)
        try:
            text = ask(**values)
        except DebuggerError as problem:
            raise ToolError(error_line(str(problem))) from problem
        return Question(text=speakable(text))

    return question


def _can_ask(context: Context[Any, Any]) -> bool:
    """An empty capability means the form; a client that only opens URLs cannot show it."""
    capabilities = context.client_capabilities
    can = capabilities.elicitation if capabilities is not None else None
    return can is not None and (can.form is not None or can.url is None)


def _annotated(kind: type[BaseModel], resolver: Callable[..., Any]) -> Any:
    from typing import Annotated

    return Annotated[kind, Resolve(resolver)]


def _sign(function: Callable[..., Any], parameters: dict[str, Any]) -> None:
    """Give a function the signature from which the SDK reads what to fill in."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    function.__annotations__ = {name: kind for name, kind in parameters.items() if kind is not None}
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, keyword) for name in parameters]
    )


def _reporter(context: Context[Any, Any]) -> Callable[[float, float, str], None]:
    """Sends progress from the thread of the verb, at most once a second, in seconds since the call."""
    started = time.monotonic()
    last = [0.0]

    def report(_done: float, total: float, message: str) -> None:
        now = time.monotonic() - started
        if now - last[0] < PROGRESS_SECONDS:
            return
        last[0] = now
        with suppress(Exception):  # the client may have gone; the verb ends by itself then
            anyio.from_thread.run(context.report_progress, now, max(total, now), message)

    return report
