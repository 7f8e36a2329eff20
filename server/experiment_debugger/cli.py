"""The command line, built from `api.COMMANDS`; no logic of its own.

    experiment-debugger debug 42
    experiment-debugger classify-failure 42 --json
    python train.py 2>&1 | experiment-debugger debug -

Exit codes: 0 answered, 2 usage or nothing to answer about, 70 an error of ours. Errors are one line on stderr.
"""

# No `from __future__ import annotations` here: the annotations of `serve` and `score` are read as objects.

import argparse
import codecs
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NoReturn, get_args, get_origin

from experiment_debugger import __version__
from experiment_debugger.api import ALLOW_RUN, COMMANDS, structured
from experiment_debugger.command import CALL, Call, Command, Param, Parameter
from experiment_debugger.errors import DebuggerError
from experiment_debugger.report.budget import TextAnswer, compact, error_line

PROGRAM = "experiment-debugger"
DEBUG_VARIABLE = "EXPERIMENT_DEBUGGER_DEBUG"
STDIN = "-"
ARGV = "argv"
OK, USAGE, INTERNAL, INTERRUPTED = 0, 2, 70, 130
STATUS = {"healthy": 0, "failure": 1, "inconclusive": 3}
"""Exit codes of `--exit-code`."""


def serve(
    transport: Annotated[Literal["stdio", "streamable-http"], Param("How the client connects")] = "stdio",
    port: Annotated[int, Param("Port on localhost for streamable-http", metavar="N", ge=0, le=65535)] = 8000,
) -> TextAnswer:
    """Serve the tools over MCP, on stdio or on localhost."""
    from experiment_debugger.mcp_server import serve as run_server

    run_server(transport, port)
    return TextAnswer("")


def score(
    cases: Annotated[str, Param("Folder of cases", positional=True, metavar="CASES")],
    only: Annotated[str | None, Param("Only cases whose name holds this", metavar="TEXT")] = None,
    modes: Annotated[str | None, Param("Only these modes, comma-separated", metavar="M,M")] = None,
    min_mode: Annotated[float | None, Param("Floor for the share of right modes", metavar="F")] = None,
    min_evidence: Annotated[float | None, Param("Floor for the share of right evidence", metavar="F")] = None,
    max_false_alarms: Annotated[int | None, Param("Most false alarms", metavar="N", ge=0)] = None,
    max_tokens: Annotated[int | None, Param("Largest answer", metavar="N", ge=1)] = None,
) -> TextAnswer:
    """Score classify-failure on a folder of labelled cases; status 1 when a floor is missed."""
    from experiment_debugger.scoreboard import Floors, scoreboard

    return scoreboard(cases, only, modes, Floors(min_mode, min_evidence, max_false_alarms, max_tokens))


CLI_ONLY = (Command(serve, title="Serve over MCP", surface="cli"), Command(score, title="Score", surface="cli"))


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with status 2."""
        self.exit(_fail(f"{message}; see {self.prog} --help", USAGE, self.prog))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit status."""
    words, given = _split(list(sys.argv[1:] if argv is None else argv))
    parser = _parser()
    arguments = parser.parse_args(words)
    if given is not None and not hasattr(arguments, ARGV):
        parser.error(f"{arguments.command.verb} takes no command after --")
    if given is not None:
        arguments.argv = given
    call = CALL.set(_call(arguments))
    try:
        return _answer(arguments.command, arguments)
    except DebuggerError as problem:
        return _fail(str(problem), USAGE)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (`| head`). Python would complain again when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as problem:  # the top level: whatever is left is a bug of ours
        if os.environ.get(DEBUG_VARIABLE) == "1":
            traceback.print_exc()
        kind = type(problem).__name__
        return _fail(f"internal error: {kind}: {problem} (set {DEBUG_VARIABLE}=1 for the traceback)", INTERNAL)
    finally:
        CALL.reset(call)


def _split(words: list[str]) -> tuple[list[str], list[str] | None]:
    """The words for the parser, and those behind `--`, which are a command of the user's."""
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _call(arguments: argparse.Namespace) -> Call:
    consent = getattr(arguments, "yes", False) or os.environ.get(ALLOW_RUN) == "1"
    return Call(typed=True, consent=consent, progress=_show_progress)


def _show_progress(done: float, total: float, message: str) -> None:
    """One line that is drawn over itself, for people only."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{done:.0f} of at most {total:.0f} s  {message}" if message else "\r\x1b[K")
        sys.stderr.flush()


def _answer(command: Command, arguments: argparse.Namespace) -> int:
    values = {parameter.argument: getattr(arguments, parameter.name) for parameter in command.of("cli")}
    if command.question is not None and not CALL.get().consent and (question := command.question(**values)):
        _write(_unanswered(question, as_json=arguments.json))
        return OK
    result = command.function(**_with_stdin(command, values))
    if arguments.json:
        _write(compact(structured(result)))
    else:
        _write(result.text if isinstance(result, TextAnswer) else command.show(result))
    if arguments.exit_code:
        return STATUS.get(result.verdict, OK)
    return result.code if isinstance(result, TextAnswer) else OK


def _unanswered(question: str, *, as_json: bool) -> str:
    """What would be started, and how to agree to it."""
    if as_json:
        return compact({"question": question, "started": False})
    return f"{question}\nNothing was started. To start it: the same with --yes."


def _with_stdin(command: Command, values: dict[str, Any]) -> dict[str, Any]:
    """`-` in place of a run means the text on stdin."""
    if values.get("run_id") == STDIN and any(parameter.name == "text" for parameter in command.parameters):
        return {**values, "run_id": None, "text": _stdin()}
    return values


def _stdin() -> str:
    """The pasted text; what PowerShell pipes is UTF-16."""
    if sys.stdin is None:
        raise DebuggerError("expected text on stdin; found it closed; pipe a traceback or log into it")
    raw = sys.stdin.buffer.read()
    is_utf16 = raw[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE} and b"\0" in raw[:1000]
    return raw.decode("utf-16" if is_utf16 else "utf-8", "replace")


def _write(text: str) -> None:
    """Bytes, so that neither the locale nor a lone surrogate of a file name can break the answer."""
    if sys.stdout is None:  # closed by the caller
        return
    sys.stdout.buffer.write((text.rstrip("\n") + "\n").encode("utf-8", "backslashreplace") if text else b"")
    sys.stdout.buffer.flush()


def _fail(message: str, status: int, program: str = PROGRAM) -> int:
    if sys.stderr is not None:
        line = f"{program}: {error_line(message)}\n"
        sys.stderr.buffer.write(line.encode("utf-8", "backslashreplace"))
    return status


def _parser() -> Parser:
    parser = Parser(prog=PROGRAM, description="Finds out why a training run failed.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB", parser_class=Parser)
    for command in (*COMMANDS, *CLI_ONLY):
        verb = verbs.add_parser(command.verb, help=command.title, description=command.description, allow_abbrev=False)
        verb.set_defaults(command=command, json=False, exit_code=False)
        for parameter in command.of("cli"):
            _add(verb, parameter)
        if command.question is not None:
            verb.add_argument("--yes", action="store_true", help="start it without asking")
        if command in COMMANDS:
            verb.add_argument("--json", action="store_true", help="print data instead of text")
        if command.exit_code:
            verb.add_argument("--exit-code", action="store_true", help="status 0 healthy, 1 failure, 3 inconclusive")
    return parser


def _add(verb: Parser, parameter: Parameter) -> None:
    about = parameter.about
    if parameter.name == ARGV:  # stands behind --, see `_split`
        verb.set_defaults(argv=None)
        return
    if parameter.type is bool:
        verb.add_argument(_option(parameter), action="store_true", help=_help(parameter))
        return
    options: dict[str, Any] = {"help": _help(parameter), "metavar": about.metavar}
    if get_origin(parameter.type) is list and about.positional:
        verb.add_argument(parameter.name, nargs="*", default=None, **options)
        return
    if get_origin(parameter.type) is list:
        verb.add_argument(_option(parameter), dest=parameter.name, nargs="+", action="extend", **options)
        return
    if get_origin(parameter.type) is Literal:
        options["choices"] = get_args(parameter.type)
    elif parameter.type is not str:
        options["type"] = _number(parameter)
    default = None if parameter.required else parameter.default
    if about.positional:
        options |= {} if parameter.required else {"nargs": "?"}
        verb.add_argument(parameter.name, default=default, **options)
    else:
        verb.add_argument(_option(parameter), default=default, **options)


def _option(parameter: Parameter) -> str:
    return f"--{parameter.name.replace('_', '-')}"


def _help(parameter: Parameter) -> str:
    default = f" (default {parameter.default})" if parameter.default and not parameter.required else ""
    return (parameter.about.cli_help or parameter.about.help).replace("%", "%%") + default


def _number(parameter: Parameter) -> Any:
    """A converter for argparse that also holds the bounds."""

    def convert(text: str) -> Any:
        value, about = parameter.type(text), parameter.about
        if (about.ge is not None and value < about.ge) or (about.le is not None and value > about.le):
            upper = f" and at most {about.le}" if about.le is not None else ""
            raise argparse.ArgumentTypeError(f"expected at least {about.ge}{upper}, found {text}")
        return value

    convert.__name__ = "number"
    return convert


if __name__ == "__main__":
    sys.exit(main())
