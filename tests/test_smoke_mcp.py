"""run-smoke-test over MCP: consent in both protocol eras, progress, background tests, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent
from smoke_runs import SmokeProject, failed_project, processes_of

from experiment_debugger.mcp_server import build_server

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("error::mcp.MCPDeprecationWarning")]
ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
SLOW = ["python", "train.py", "--steps", "1000", "--pause", "0.2"]


@pytest.fixture
def failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmokeProject:
    made = failed_project(tmp_path / "project")
    monkeypatch.setenv("EXPERIMENT_DEBUGGER_PROJECT", str(made.root))
    monkeypatch.delenv("EXPERIMENT_DEBUGGER_ALLOW_RUN", raising=False)
    return made


@pytest.fixture
def server(failed: SmokeProject) -> MCPServer[Any]:
    assert failed.root.is_dir()
    return build_server()


class User:
    """Somebody who is asked, and what they were asked."""

    def __init__(self, **answer: Any) -> None:
        self.answer, self.questions = ElicitResult(**answer), list[str]()

    async def __call__(self, context: Any, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG002 (the SDK's)
        self.questions.append(params.message)
        return self.answer


def willing() -> User:
    return User(action="accept", content={"run": True})


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def data_of(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text_of(result)
    data = result.structured_content
    assert isinstance(data, dict)
    return data


@ERAS
async def test_the_user_is_asked_with_the_exact_command(server: MCPServer[Any], failed: SmokeProject, era: str) -> None:
    user, seen = willing(), list[str]()

    async def note(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001 (the SDK's)
        seen.append(message or "")

    async with Client(server, mode=era, elicitation_callback=user) as client:
        argv = ["python", "train.py", "--pause", "0.1"]
        data = data_of(await client.call_tool("run_smoke_test", {"run_id": 42, "argv": argv}, progress_callback=note))
    assert data["verdict"] == "reproduced", data["summary"]
    (question,) = set(user.questions)
    assert "python train.py --pause 0.1" in question
    assert failed.broken[:12] in question
    assert any("step " in message and "loss" in message for message in seen)


@ERAS
@pytest.mark.parametrize(
    "user",
    [User(action="decline"), User(action="cancel"), User(action="accept", content={"run": False}), None],
    ids=["declines", "dismisses", "does not tick", "cannot be asked"],
)
async def test_without_consent_nothing_starts(
    server: MCPServer[Any], failed: SmokeProject, era: str, user: User | None
) -> None:
    async with Client(server, mode=era, elicitation_callback=user) as client:
        for extra in ({}, {"start": True}):
            result = await client.call_tool("run_smoke_test", {"run_id": "42", **extra})
            assert result.is_error
            assert "Not run" in text_of(result)
    assert not failed.started


@ERAS
async def test_who_cannot_be_asked_needs_the_operator(
    server: MCPServer[Any], monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    monkeypatch.setenv("EXPERIMENT_DEBUGGER_ALLOW_RUN", "1")
    async with Client(server, mode=era) as client:
        assert data_of(await client.call_tool("run_smoke_test", {"run_id": "42"}))["verdict"] == "reproduced"


async def test_the_operator_does_not_overrule_a_user_who_says_no(
    server: MCPServer[Any], failed: SmokeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXPERIMENT_DEBUGGER_ALLOW_RUN", "1")
    async with Client(server, elicitation_callback=User(action="decline")) as client:
        assert (await client.call_tool("run_smoke_test", {"run_id": "42"})).is_error
    assert not failed.started


async def test_consent_is_no_argument(server: MCPServer[Any], failed: SmokeProject) -> None:
    """Even a user who would agree is not asked about a call that tries to agree for them."""
    user = willing()
    async with Client(server, elicitation_callback=user) as client:
        for name in ("yes", "consent", "question", "agreed", "pass_env"):
            result = await client.call_tool("run_smoke_test", {"run_id": "42", name: True})
            assert result.is_error
            assert f"{name}: Extra inputs are not permitted" in text_of(result)
        schema = next(tool for tool in (await client.list_tools()).tools if tool.name == "run_smoke_test")
        assert not {"consent", "question", "yes", "pass_env"} & set(schema.input_schema["properties"])
    assert not user.questions
    assert not failed.started


async def test_the_question_shows_what_would_not_be_seen(server: MCPServer[Any], failed: SmokeProject) -> None:
    user = User(action="decline")
    async with Client(server, elicitation_callback=user) as client:
        argv = ["python", "-c", "password=1; x='\u202e\x1b[2J'"]
        await client.call_tool("run_smoke_test", {"argv": argv, "try": ["half-batch"]})
    (question,) = user.questions
    assert "password=1" in question
    assert "\\u202e\\x1b[2J" in question
    assert "3 times" in question
    assert not failed.started


@ERAS
async def test_a_long_test_is_started_and_polled(server: MCPServer[Any], era: str) -> None:
    async with Client(server, mode=era, elicitation_callback=willing()) as client:
        arguments = {"run_id": "42", "argv": ["python", "train.py"], "start": True, "seconds": 300}
        started = data_of(await client.call_tool("run_smoke_test", arguments))
        assert "verdict" not in started
        with anyio.fail_after(60):
            while "verdict" not in (data := await polled(client, started["id"])):
                await anyio.sleep(0.2)
        assert data["verdict"] == "reproduced"


async def polled(client: Client, test: str) -> dict[str, Any]:
    return data_of(await client.call_tool("run_smoke_test", {"poll": test}))


async def test_a_started_test_can_be_cancelled(server: MCPServer[Any]) -> None:
    async with Client(server, elicitation_callback=willing()) as client:
        arguments = {"argv": SLOW, "start": True, "seconds": 300}
        started = data_of(await client.call_tool("run_smoke_test", arguments))
        with anyio.fail_after(60):
            while "step" not in (await polled(client, started["id"]))["summary"]:
                await anyio.sleep(0.2)
        assert processes_of(started["id"])
        data = data_of(await client.call_tool("run_smoke_test", {"cancel": started["id"]}))
    assert (data["verdict"], data["stopped"]) == ("inconclusive", "cancelled")
    assert not processes_of(started["id"])


async def test_a_call_that_waits_has_a_limit(server: MCPServer[Any]) -> None:
    async with Client(server, elicitation_callback=willing()) as client:
        result = await client.call_tool("run_smoke_test", {"run_id": "42", "seconds": 300})
    assert result.is_error
    assert "start" in text_of(result)


async def test_a_client_that_gives_up_leaves_nothing_behind(server: MCPServer[Any], failed: SmokeProject) -> None:
    async with Client(server, mode="legacy", elicitation_callback=willing()) as client:
        with anyio.move_on_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "run_smoke_test", {"argv": SLOW})
                with anyio.fail_after(50):
                    while not (failed.started and processes_of(failed.started[0].name)):
                        await anyio.sleep(0.1)
                group.cancel_scope.cancel()
        await gone(failed.started[0].name)


async def gone(test: str) -> None:
    with anyio.fail_after(40):
        while processes_of(test):
            await anyio.sleep(0.1)


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
async def test_what_a_server_started_dies_with_it(failed: SmokeProject, by: signal.Signals) -> None:
    """The real server over real stdio; afterwards neither processes nor a worktree are left."""
    pids = failed.root.parent / "pid"
    wrapper = f"import os, pathlib; pathlib.Path({str(pids)!r}).write_text(str(os.getpid()))\n"
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-c", wrapper + "from experiment_debugger.mcp_server import main; main()"],
        env={**os.environ},
    )
    test, seen = "", list[int]()
    with suppress(Exception):  # the connection breaks, as it must
        async with Client(parameters, elicitation_callback=willing()) as client:
            arguments = {"argv": SLOW, "start": True, "seconds": 300}
            test = data_of(await client.call_tool("run_smoke_test", arguments))["id"]
            with anyio.fail_after(60):
                while not processes_of(test):
                    await anyio.sleep(0.1)
            seen = processes_of(test)
            os.kill(int(pids.read_text(encoding="utf-8")), by)
            await gone(test)
    assert test
    assert seen
    await gone(test)
    deadline = time.monotonic() + 40
    while failed.git("worktree", "list").count("\n") and time.monotonic() < deadline:
        await anyio.sleep(0.2)
    assert failed.git("worktree", "list").count("\n") == 0


async def test_a_later_server_says_that_the_test_ended_with_the_earlier_one(
    server: MCPServer[Any], failed: SmokeProject
) -> None:
    code = (
        "import sys; from experiment_debugger import api; from experiment_debugger.command import CALL, Call\n"
        "CALL.set(Call(consent=True))\n"
        "print(api.COMMANDS[[c.tool for c in api.COMMANDS].index('run_smoke_test')].function("
        f"argv={SLOW!r}, start=True).id)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=failed.root)
    test = done.stdout.strip()
    async with Client(server) as client:
        data = await polled(client, test)
    assert data["verdict"] == "inconclusive"
    assert "server" in data["summary"]
    await gone(test)
