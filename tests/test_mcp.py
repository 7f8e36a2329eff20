"""The server as assistants use it: both protocol eras in memory, and one real process over stdio."""

import base64
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer
from mcp.types import CallToolResult, ImageContent, TextContent, TextResourceContents
from samples import TRACEBACK, Cli, steps

from experiment_debugger import api
from experiment_debugger.command import Command, Param
from experiment_debugger.mcp_server import INSTRUCTIONS, build_server
from experiment_debugger.models import MODES
from experiment_debugger.report.budget import TextAnswer, tokens

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("error::mcp.MCPDeprecationWarning")]
ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
WRITING = {"write_debug_report", "append_risk_board", "hand_off"}
MOST_TOKENS = 2310
"""Names, descriptions and input schemas of these tools; all twelve together may take 2,500."""


@pytest.fixture
def server(project: Path, monkeypatch: pytest.MonkeyPatch) -> MCPServer[Any]:
    monkeypatch.setenv("EXPERIMENT_DEBUGGER_PROJECT", str(project))
    return build_server()


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def call(server: MCPServer[Any], tool: str, era: str = "auto", **arguments: Any) -> CallToolResult:
    async with Client(server, mode=era) as client:
        return await client.call_tool(tool, arguments)


@ERAS
async def test_a_session_goes_from_context_to_classes_to_the_lines_to_the_taxonomy(
    server: MCPServer[Any], era: str
) -> None:
    async with Client(server, mode=era) as client:
        await a_session(client)


async def test_the_same_session_with_a_real_process(project: Path) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "experiment_debugger.mcp_server"],
        env={**os.environ, "EXPERIMENT_DEBUGGER_PROJECT": str(project)},
    )
    async with Client(parameters) as client:
        await a_session(client)


@pytest.fixture
def address(project: Path) -> Iterator[str]:
    """A real HTTP server for the project."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [
        sys.executable,
        "-m",
        "experiment_debugger.cli",
        "serve",
        "--transport",
        "streamable-http",
        "--port",
        str(port),
    ]
    with subprocess.Popen(argv, env={**os.environ, "EXPERIMENT_DEBUGGER_PROJECT": str(project)}) as process:
        deadline = time.monotonic() + 60
        while not is_open(port) and time.monotonic() < deadline:
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
        process.terminate()


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def test_the_same_session_over_http_where_a_model_still_types_nothing(address: str) -> None:
    async with Client(address) as client:
        await a_session(client)
        outside = await client.call_tool("gather_run_context", {"project": "/"})
        assert outside.is_error
        assert "outside" in text_of(outside)


async def a_session(client: Client) -> None:
    context = (await client.call_tool("gather_run_context", {"run_id": 42})).structured_content
    assert context is not None
    assert context["run"]["id"] == "42"
    classes = (await client.call_tool("classify_failure", {"run_id": "42"})).structured_content
    assert classes is not None
    assert classes["modes"][0]["mode"] == "oom"
    quoted = classes["modes"][0]["evidence"][0]
    window = await client.call_tool("read_run_logs", {"run_id": 42, "path": quoted["path"], "around": quoted["line"]})
    assert f"{quoted['line']}| torch.OutOfMemoryError" in text_of(window)
    is_image_alone(await client.call_tool("read_run_metrics", {"run_id": 42, "plot": True}))
    entry = (await client.read_resource("taxonomy://oom")).contents[0]
    assert isinstance(entry, TextResourceContents)
    assert entry.text.startswith("# oom (mode)")
    prompt = await client.get_prompt("debug_run", {"run_id": "42"})
    assert "debug" in str(prompt.messages[0].content)


@ERAS
async def test_tools_are_the_verbs_with_all_four_annotations(server: MCPServer[Any], era: str) -> None:
    async with Client(server, mode=era) as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [command.tool for command in api.COMMANDS]
    for tool in tools:
        hints = tool.annotations
        assert hints is not None
        starts, writes = tool.name == "run_smoke_test", tool.name in WRITING
        assert (hints.read_only_hint, hints.destructive_hint) == (not (starts or writes), starts)
        assert (hints.idempotent_hint, hints.open_world_hint) == (not starts, starts)
        assert tool.title
        assert tool.input_schema["additionalProperties"] is False


async def test_names_descriptions_and_schemas_are_small(server: MCPServer[Any]) -> None:
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
    cost = sum(tokens(tool.name + (tool.description or "") + json.dumps(tool.input_schema)) for tool in tools)
    assert cost <= MOST_TOKENS
    assert len(INSTRUCTIONS) <= 512


@ERAS
@pytest.mark.parametrize("tool", ["classify_failure", "gather_run_context"])
async def test_structured_content_is_what_the_command_line_prints(
    server: MCPServer[Any], cli: Cli, project: Path, tool: str, era: str
) -> None:
    result = await call(server, tool, era, run_id="42")
    printed = cli(tool.replace("_", "-"), "42", "--json", "--project", str(project)).out
    assert result.structured_content == json.loads(printed)
    assert text_of(result) == printed.rstrip("\n")


@ERAS
async def test_a_plot_is_an_image_alone(server: MCPServer[Any], era: str) -> None:
    is_image_alone(await call(server, "read_run_metrics", era, run_id=42, plot=True))
    numbers = await call(server, "read_run_metrics", era, run_id=42, keys="loss")
    assert numbers.structured_content is not None
    assert json.loads(text_of(numbers)) == numbers.structured_content
    assert numbers.structured_content["series"][0]["key"] == "loss"
    compared = await call(server, "read_run_metrics", era, **{"run_id": 42, "with": 7})
    assert compared.structured_content is not None
    assert compared.structured_content["with"] == "7"


def is_image_alone(result: CallToolResult) -> None:
    assert not result.is_error
    assert result.structured_content is None
    (block,) = result.content
    assert isinstance(block, ImageContent)
    assert block.mime_type == "image/png"
    png = base64.b64decode(block.data)
    assert png.startswith(b"\x89PNG")
    assert len(png) <= 100_000


@ERAS
async def test_text_tools_have_text_only(server: MCPServer[Any], era: str) -> None:
    result = await call(server, "debug", era, run_id="42")
    assert result.structured_content is None
    assert text_of(result).startswith("# Run 42: oom")


@ERAS
@pytest.mark.parametrize("run_id", [42, "42", "run-42"])
async def test_a_run_may_be_a_number_or_a_text(server: MCPServer[Any], run_id: Any, era: str) -> None:
    result = await call(server, "debug", era, run_id=run_id)
    assert not result.is_error
    assert "oom" in text_of(result).splitlines()[0]


@ERAS
async def test_pasted_text_is_diagnosed(server: MCPServer[Any], era: str) -> None:
    result = await call(server, "classify_failure", era, text=TRACEBACK)
    assert result.structured_content is not None
    assert result.structured_content["modes"][0]["evidence"][0]["path"] == "-"


@ERAS
@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("debug", {"run_id": "99"}, "99"),
        ("debug", {"run_id": "42", "mode": "sad"}, "nan, oom, slow"),
        ("debug", {"run": "42"}, "Arguments: run_id, mode, text, project, max_tokens"),
        ("debug", {"run_id": "../x"}, "run_id"),
        ("debug", {"run_id": "/etc/passwd"}, "run_id"),
        ("debug", {"run_id": "-x"}, "run_id"),
        ("debug", {"run_id": "42", "text": "x"}, "found both"),
        ("debug", {"run_id": "42", "max_tokens": 5}, "greater than or equal to 200"),
        ("gather_run_context", {"project": "/"}, "outside"),
        ("read_run_logs", {"run_id": "42", "path": "../../etc/passwd"}, "passwd"),
        ("explain", {"name": "nothing-like-it"}, "Expected a mode, cause or rule"),
    ],
)
async def test_an_error_reaches_the_model_with_its_reason(
    server: MCPServer[Any], tool: str, arguments: dict[str, Any], says: str, era: str
) -> None:
    result = await call(server, tool, era, **arguments)
    assert result.is_error
    assert says in text_of(result)
    assert "pydantic.dev" not in text_of(result)


async def test_a_bug_of_ours_does_not_leak_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def boom(name: Annotated[str, Param("a name")]) -> TextAnswer:
        raise KeyError("secret " + name)

    monkeypatch.setattr(api, "COMMANDS", (Command(boom, title="Boom"),))
    result = await call(build_server(), "boom", name="x")
    assert result.is_error
    assert "secret" not in text_of(result)


@ERAS
async def test_not_a_number_survives_as_text(server: MCPServer[Any], project: Path, era: str) -> None:
    lines = steps(range(100)) + [f"step {n} loss nan lr 3.0e-04\n" for n in range(100, 120)]
    (project / "logs" / "run-50.log").write_text("".join(lines), encoding="utf-8")
    result = await call(server, "classify_failure", era, run_id=50)
    assert result.structured_content is not None
    assert result.structured_content["modes"][0]["mode"] == "nan-gradient"
    assert "null" not in json.dumps(result.structured_content)


@pytest.fixture
def hostile(project: Path) -> Iterator[Path]:
    name = os.fsencode(str(project)) + b"/logs/run-13-\xff\xfe.log"
    with open(name, "wb") as file:
        file.write("".join(steps(range(20))).encode() + b"bad \xff \xed\xa0\x80 \x1b]8;;x\x07\n" + TRACEBACK.encode())
    yield project
    os.unlink(name)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse names that are not UTF-8")
async def test_lone_surrogates_cannot_kill_the_process(hostile: Path) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "experiment_debugger.mcp_server"],
        env={**os.environ, "EXPERIMENT_DEBUGGER_PROJECT": str(hostile)},
    )
    async with Client(parameters) as client:
        for tool in ("debug", "classify_failure", "gather_run_context", "read_run_logs"):
            result = await client.call_tool(tool, {"run_id": 13})
            assert not result.is_error, text_of(result)
        assert (await client.call_tool("explain", {"name": "oom"})).content


@ERAS
async def test_the_taxonomy_is_readable(server: MCPServer[Any], era: str) -> None:
    async with Client(server, mode=era) as client:
        modes = (await client.read_resource("taxonomy://modes")).contents[0]
        assert isinstance(modes, TextResourceContents)
        assert [line.split(": ")[0] for line in modes.text.split("\n")] == [f"- {mode}" for mode in MODES]
        oom = (await client.read_resource("taxonomy://oom")).contents[0]
        assert isinstance(oom, TextResourceContents)
        assert oom.text.startswith("# oom (mode)")
        with pytest.raises(Exception, match="Expected a mode, cause or rule"):
            await client.read_resource("taxonomy://no-such-thing")
