"""The parameters that verbs share, each described once.

--keys train/loss,val/*   --steps 600:700   --max-tokens 800
"""

# No `from __future__ import annotations` here: the surfaces read these annotations as objects.

from dataclasses import replace
from typing import Annotated

from experiment_debugger.command import Param
from experiment_debugger.report.budget import MAX_TOKENS, MIN_TOKENS

RUN_PATTERN = r"^\w[\w.\-]*(/\w[\w.\-]*)*$"

MOST_POINTS = 2000

RUN = Param("Run id, e.g. 42", positional=True, metavar="RUN", pattern=RUN_PATTERN, numbers=True)
RunId = Annotated[str | None, RUN]
OneRunId = Annotated[str, RUN]
RunIdOrStdin = Annotated[
    str | None, replace(RUN, cli_help="Run id, e.g. 42, or a path; - reads a pasted log from stdin")
]
ModeName = Annotated[
    str | None,
    Param("Suspected mode, tested first: nan, oom, slow, metric, repro, crash or silent", metavar="M"),
]
Pasted = Annotated[str | None, Param("A pasted traceback or log, instead of a run", surface="mcp")]
ProjectDir = Annotated[
    str | None, Param("Its folder", cli_help="Project folder, if not the current one", metavar="DIR")
]
MaxTokens = Annotated[
    int,
    Param("", cli_help="Hard cap of the answer", metavar="N", ge=MIN_TOKENS, le=MAX_TOKENS),
]

Rank = Annotated[int | None, Param("Only this rank", metavar="N", ge=0)]
Keys = Annotated[str | None, Param("Metrics, comma-separated; train/* works", metavar="KEY,...")]
Roles = Annotated[str | None, Param("Such as loss,grad-norm,learning-rate,memory", metavar="ROLE,...")]
StepRange = Annotated[str | None, Param("Steps A:B, A: or :B", metavar="A:B")]
Points = Annotated[
    int, Param("Up to N points a series; thinning keeps spikes and NaN", metavar="N", ge=0, le=MOST_POINTS)
]
OtherRunId = Annotated[
    str | None, Param("A second run to compare", metavar="RUN2", pattern=RUN_PATTERN, numbers=True, name="with")
]
PictureWanted = Annotated[bool, Param("An image instead of numbers", surface="mcp")]
PictureFile = Annotated[
    str | None, Param("Also draw them into this new file", metavar="FILE.png", surface="cli", name="plot")
]

Argv = Annotated[list[str] | None, Param("Command as a list, instead of the run's own; no shell")]
Tries = Annotated[
    list[str] | None,
    Param(
        "One change each, compared with the same command unchanged: fp32, half-batch, workers=N, lr/10, no-compile, "
        "blocking, one-process, deterministic",
        metavar="T",
        name="try",
    ),
]
Steps = Annotated[int | None, Param("Stop after N optimizer steps", metavar="N", ge=1)]
Seconds = Annotated[
    int | None,
    Param("Wall clock; more than 45 only with start", cli_help="Wall clock (default 45)", metavar="S", ge=1, le=86_400),
]
Checkpoint = Annotated[str | None, Param("Resume from this checkpoint", metavar="CKPT")]
Commit = Annotated[str | None, Param("Commit to test, e.g. HEAD to prove a fix (default: the run's)", metavar="COMMIT")]
InPlace = Annotated[bool, Param("Run in the project itself, where no worktree can be made")]
Start = Annotated[bool, Param("Return an id at once; poll it", surface="mcp")]
Poll = Annotated[str | None, Param("Id of a started test", surface="mcp")]
Cancel = Annotated[str | None, Param("Id of a started test to end", surface="mcp")]
PassEnv = Annotated[
    list[str] | None,
    Param("Let this withheld variable through", metavar="NAME", surface="cli"),
]

RootCause = Annotated[str | None, Param("", cli_help="The root cause in a sentence or two", metavar="TEXT")]
FixCommit = Annotated[
    str | None, Param("Default: the one a test proved", cli_help="The commit that fixes it", metavar="COMMIT")
]
WhyUnchanged = Annotated[
    str | None, Param("Why the experiment is the same", cli_help="Why the fix leaves what is tested", metavar="TEXT")
]
Hypotheses = Annotated[list[str] | None, Param("'WHAT | TEST | RESULT' each", metavar="TEXT")]
Note = Annotated[str | None, Param("", cli_help="Anything else worth keeping", metavar="TEXT")]
Reasons = Annotated[
    list[str] | None,
    Param("CHECK=TEXT: why it stays unknown, or risk-recorded is declined", metavar="CHECK=TEXT"),
]

RiskId = Annotated[str | None, Param("", cli_help="The row to update, e.g. RSK-007", metavar="RSK-NNN")]
Kind = Annotated[str | None, Param("", cli_help="execution, evaluation, reproducibility, ...", metavar="KIND")]
RiskStatus = Annotated[str | None, Param("", cli_help="open, mitigated, accepted or closed", metavar="STATUS")]
Severity = Annotated[str | None, Param("", cli_help="low, medium, high or fatal", metavar="S")]
Probability = Annotated[str | None, Param("", cli_help="low, medium or high", metavar="P")]
Summary = Annotated[str | None, Param("", cli_help="What can go wrong", metavar="TEXT")]
Threatens = Annotated[str | None, Param("", cli_help="Runs, claims or results at stake", metavar="TEXT")]
Mitigation = Annotated[str | None, Param("", cli_help="What keeps it from happening", metavar="TEXT")]
Actions = Annotated[str | None, Param("", cli_help="What is to be done", metavar="TEXT")]
Certainty = Annotated[
    str | None, Param("", cli_help="observed, user-stated, inferred, stale or needs-verification", metavar="C")
]
To = Annotated[
    str,
    Param(
        "",
        cli_help="result-diagnosis, data-pipeline-manager, run-status-monitor or research-project-memory; else",
        metavar="SKILL",
    ),
]

RunIds = Annotated[list[str] | None, Param("The first is the reference", positional=True, metavar="RUN", numbers=True)]
LastGood = Annotated[
    str | None,
    Param("This run against the newest healthy one like it", metavar="RUN", pattern=RUN_PATTERN, numbers=True),
]
