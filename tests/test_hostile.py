"""What hostile or unlucky users do: one clear line or an answer each, never an internal error, never a hang."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent
from samples import TRACEBACK, Cli, Done, steps, write

VERBS = ("debug", "classify-failure", "gather-run-context", "read-run-logs")
LOG = "".join(steps(range(300))) + TRACEBACK
OOM_LINE = 300 + TRACEBACK.count("\n")
ALNUM = "aB3" * 12
HEX40 = "0123456789abcdef" * 2 + "01234567"

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
as_nobody = pytest.mark.skipif(
    not (hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("setpriv")),
    reason="needs root, who may read everything, and setpriv",
)


TRACE = 'Traceback (most recent call last):\n  File "train.py", line 3, in main\n    go()\nKeyError: "labels"\n'


def log(project: Path, name: str, content: bytes) -> Path:
    path = project / "logs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_a_log_redirected_by_powershell_is_text(cli: Cli, tmp_path: Path, order: str) -> None:
    mark = "\ufeff".encode(order)
    log(tmp_path, "run-42.log", mark + f"step 1/9 loss 2.0\n{TRACE}".encode(order))
    assert "KeyError" in cli("debug", "42", cwd=tmp_path).out
    assert "KeyError" in cli("debug", "-", cwd=tmp_path, stdin=mark + TRACE.encode(order)).out


def test_a_log_with_a_hole_of_nuls_is_text(cli: Cli, tmp_path: Path) -> None:
    log(tmp_path, "run-42.log", b"\0" * 20_000 + f"step 1/9 loss 2.0\n{TRACE}".encode())
    assert "KeyError" in cli("debug", "42", cwd=tmp_path).out


def test_a_packed_log_that_is_cut_off_gives_what_is_in_front_of_the_damage(cli: Cli, tmp_path: Path) -> None:
    lines = "".join(f"step {step}/9000 loss 2.{step:05}\n" for step in range(5000))
    packed = gzip.compress(lines.encode())
    log(tmp_path, "run-42.log.gz", packed[: len(packed) // 2])
    done = cli("debug", "42", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "inconclusive" in done.out
    assert "step 1/9000" in cli("read-run-logs", "42", "--head", "3", cwd=tmp_path).out


def test_a_pattern_finds_what_a_progress_bar_has_overwritten(cli: Cli, tmp_path: Path) -> None:
    log(tmp_path, "run-42.log", b"step 1 loss 2.0\rstep 2 loss nan\rstep 3 loss 1.9\n")
    assert "1| step 2 loss nan" in cli("read-run-logs", "42", "--pattern", "loss nan", cwd=tmp_path).out


def test_a_complaint_stays_one_bounded_line(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "run-42.log", "step 1 loss 2.0\n")
    done = cli("debug", "x\u202e\n" + "y" * 20_000, cwd=tmp_path)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert len(done.err) < 2000
    assert "\u202e" not in done.err


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def is_one_line(done: Done) -> None:
    assert done.code == 2, done.err
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert "internal error" not in done.err


def oom_line(cli: Cli, project: Path) -> int:
    """The line of the first evidence of run 42, which must be out of memory."""
    done = cli("classify-failure", "42", "--json", "--project", str(project))
    assert done.code == 0, done.err
    assert done.data["modes"][0]["mode"] == "oom", done.out
    evidence = done.data["modes"][0]["evidence"][0]
    assert "CUDA out of memory" in evidence["quote"]
    return int(evidence["line"])


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("run-42.log", LOG.encode("utf-16")),
        ("run-42.log", LOG.replace("\n", "\r\n").encode()),
        ("run-42.log", b"\xef\xbb\xbf" + LOG.encode()),
        ("run-42.log.gz", gzip.compress(LOG.encode())),
        ("run-42.log.xz", lzma.compress(LOG.encode())),
    ],
)
def test_a_log_is_read_in_whatever_code_it_stands(cli: Cli, tmp_path: Path, name: str, data: bytes) -> None:
    put(tmp_path / "logs" / name, data)
    assert oom_line(cli, tmp_path) == OOM_LINE
    shown = cli("read-run-logs", "42", "--around", str(OOM_LINE), "--project", str(tmp_path))
    assert f"{OOM_LINE}| torch.OutOfMemoryError" in shown.out


@pytest.mark.parametrize("at", [0, 3000])
def test_a_hole_of_nuls_does_not_make_a_log_binary(cli: Cli, tmp_path: Path, at: int) -> None:
    data = LOG.encode()
    put(tmp_path / "logs" / "run-42.log", data[:at] + b"\0" * 200_000 + data[at:])
    assert oom_line(cli, tmp_path) == OOM_LINE


def test_what_stands_in_front_of_damage_is_read_and_the_damage_is_named(cli: Cli, tmp_path: Path) -> None:
    noise = "".join(f"{number * 2654435761 % 2**32:08x} checking shard\n" for number in range(9000))
    packed = gzip.compress((LOG + noise).encode())
    put(tmp_path / "logs" / "run-42.log.gz", packed[: len(packed) * 3 // 4])
    assert oom_line(cli, tmp_path) == OOM_LINE
    done = cli("classify-failure", "42", "--json", "--project", str(tmp_path))
    assert "reading stopped" in done.data["coverage"]["unreadable"][0]
    shown = cli("read-run-logs", "42", "--around", str(OOM_LINE), "--project", str(tmp_path))
    assert shown.code == 0, shown.err
    assert f"{OOM_LINE}| torch.OutOfMemoryError" in shown.out


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_garbage_under_a_packed_name_is_unreadable_and_no_error(cli: Cli, tmp_path: Path, suffix: str) -> None:
    magic = {".gz": b"\x1f\x8b\x08\0", ".xz": b"\xfd7zXZ\0", ".zst": b"\x28\xb5\x2f\xfd"}[suffix]
    put(tmp_path / "logs" / f"run-42.log{suffix}", magic + b"garbage" * 50)
    for verb in VERBS:
        done = cli(verb, "42", "--project", str(tmp_path))
        assert done.code in {0, 2}, done.err
        assert "internal error" not in done.err


def test_one_line_with_a_million_hits_costs_seconds(cli: Cli, tmp_path: Path) -> None:
    message = b"CUDA out of memory. Tried to allocate 2 GiB "
    put(tmp_path / "logs" / "run-42.log", message * 100_000 + b"\n" + LOG.encode())
    assert oom_line(cli, tmp_path) in {1, OOM_LINE + 1}


ODD_CONFIGS = [
    "lr: .nan\nseed: .inf\n",
    "batch_size: 0x" + "f" * 5000 + "\n",
    "? " + "9" * 4200 + "\n: {lr: 1}\n",
    "[" * 100_000,
    "seed: 2024-13-45\nlr: !!python/object/apply:os.system ['true']\n",
    "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a, *a, *a, *a, *a, *a, *a]\n" for n in range(30)),
]


def test_a_config_may_hold_anything(cli: Cli, project: Path) -> None:
    for number, text in enumerate(ODD_CONFIGS):
        write(project / "configs" / f"run-42-{number}.yaml", text)
    for verb in ("debug", "gather-run-context"):
        for extra in ([], ["--json"]):
            done = cli(verb, "42", "--project", str(project), *extra)
            assert done.code == 0, done.err


@pytest.mark.parametrize(
    "text",
    [
        '{"42": {"log": "logs/run-42.log", "config": "a\\u0000b"}}',
        '{"42": {"log": "logs/run-42.log", "config": "\\ud800.log"}}',
        '{"42": {"log": "logs/run-42.log", "config": "' + "x" * 5000 + '"}}',
        "[" * 100_000,
    ],
)
def test_a_registry_may_name_what_no_file_can_be_called(cli: Cli, project: Path, text: str) -> None:
    write(project / "runs.json", text)
    assert cli("gather-run-context", "--project", str(project)).code == 0
    done = cli("classify-failure", "42", "--project", str(project))
    assert done.code == 0, done.err
    assert "oom" in done.out


@linux_only
def test_fifos_devices_and_loops_are_never_opened(cli: Cli, project: Path) -> None:
    os.mkfifo(project / "logs" / "run-50.log")
    (project / "logs" / "run-51.log").symlink_to("/dev/zero")
    (project / "logs" / "run-52.log").symlink_to("/etc/passwd")
    (project / "logs" / "again").symlink_to(project / "logs")
    (project / "logs" / "run-53.log").symlink_to("run-53.log")
    for run in ("50", "51", "52", "53", str(project / "logs" / "run-50.log"), "/dev/zero"):
        is_one_line(cli("debug", run, "--project", str(project)))
    assert cli("debug", "42", "--project", str(project)).code == 0


@as_nobody
@pytest.mark.parametrize(
    ("closed", "arguments", "code", "says"),
    [
        ("logs", ["debug", "42"], 2, "logs (permission denied)"),
        ("logs", ["debug", "logs/run-42.log"], 2, "permission denied"),
        ("logs/run-42.log", ["debug", "42"], 0, "permission denied"),
        (".", ["debug", "42"], 2, "ermission denied"),
        (".experiment-debugger", ["debug", "42"], 2, "ermission denied"),
        (".agent", ["debug", "42"], 0, "oom"),
        ("memory", ["debug", "42"], 0, "oom"),
        ("configs", ["debug", "42"], 0, "oom"),
        (".git", ["debug", "42"], 0, "oom"),
    ],
)
def test_folders_without_permission(project: Path, closed: str, arguments: list[str], code: int, says: str) -> None:
    write(project / ".agent" / "run-status" / "runs.yaml", "runs: {}\n")
    for name in (".experiment-debugger", "memory", ".git"):
        (project / name).mkdir(exist_ok=True)
    for folder in (project, *project.parents[:4]):
        folder.chmod(0o755)
    (project / closed).chmod(0)
    argv = ["setpriv", "--reuid", "65534", "--clear-groups", sys.executable, "-m", "experiment_debugger.cli"]
    done = subprocess.run(
        [*argv, *arguments, "--project", str(project)],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env={**os.environ, "HOME": "/nonexistent", "XDG_CACHE_HOME": "/proc/nothing"},
    )
    (project / closed).chmod(0o755)
    if done.returncode == 1 and "No module named" in done.stderr:
        pytest.skip("nobody may not read this checkout")
    assert done.returncode == code, done.stderr
    assert says in done.stdout + done.stderr
    assert done.stderr.count("\n") == (1 if code else 0)


def test_a_working_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    script = f"mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir {tmp_path}/gone && "
    script += f"{sys.executable} -m experiment_debugger.cli debug 42"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    is_one_line(Done(done.returncode, done.stdout, done.stderr))


@pytest.mark.parametrize(("closing", "code"), [("<&-", 2), ("</dev/null >&-", 0), ("</dev/null 2>&-", 0)])
def test_closed_streams_are_no_internal_error(closing: str, code: int) -> None:
    script = f"{sys.executable} -m experiment_debugger.cli debug - {closing}"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "internal error" not in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--pattern", "a{99999999999}"],
        ["--pattern", "(a+)+$"],
        ["--pattern", r"(?=(a|aa)+$)b"],
        ["--pattern", "["],
        ["--cursor", "logs/run-42.log:" + "9" * 5000],
        ["--around", "9" * 5000],
        ["--around", "step:" + "9" * 5000],
        ["--rank", "7"],
        ["--path", "../../../etc/passwd"],
        ["--cursor", "/etc/passwd:1"],
    ],
)
def test_odd_options_of_read_run_logs_are_one_line(cli: Cli, project: Path, options: list[str]) -> None:
    is_one_line(cli("read-run-logs", "42", *options, "--project", str(project)))


@pytest.mark.parametrize("pattern", ["(a|aa)+$", r"\w*\w*\w*\w*\w*\w*\w*\w*!", ".*.*.*.*.*.*=.*x"])
def test_no_pattern_runs_for_hours(project: Path, pattern: str) -> None:
    with (project / "logs" / "run-42.log").open("a") as file:
        file.write("a" * 60_000 + "b\n")
    argv = [sys.executable, "-m", "experiment_debugger.cli", "read-run-logs", "42", "--pattern", pattern]
    done = subprocess.run([*argv, "--project", str(project)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in {0, 2}
    assert "internal error" not in done.stderr


def test_errors_stay_short_and_plain_whatever_was_typed(cli: Cli, project: Path) -> None:
    for arguments in (
        ["explain", "x\x1b[31m\n" * 5000],
        ["debug", "x\x1b[2J" * 5000],
        ["debug", "42", "--" + "y" * 90_000],
    ):
        done = cli(*arguments, cwd=project)
        is_one_line(done)
        assert len(done.err) < 2000
        assert "\x1b" not in done.err


SECRETS = [
    ("train.py --hub_token {}", ALNUM),
    ("train.py --wandb_key {}", HEX40),
    ("WANDB_API_KEY\t{}", HEX40),
    ("wandb: Paste an API key from your profile and hit enter: {}", HEX40),
    ("KAGGLE_KEY={}", HEX40[:32]),
    ('{{"username":"me","key":"{}"}}', HEX40[:32]),
    ("GET https://b.s3.amazonaws.com/f?X-Amz-Signature={}", HEX40),
    ("https://x.blob.core.windows.net/c/f?sv=2022-11-02&sig={}", ALNUM),
    ("Cookie: session={}", ALNUM),
    ("npm" + "_{}", ALNUM),
    ("pypi-" + "AgEI{}", ALNUM),
    ("{}", "QUJj" * 15 + "ab1+"),
]


def test_secrets_come_out_redacted_on_every_surface(cli: Cli, tmp_path: Path) -> None:
    lines = [text.format(secret) for text, secret in SECRETS]
    errors = [
        f"RuntimeError: CUDA out of memory. Tried to allocate {line}" for line in lines[:-1]
    ]  # key material is a line of its own
    write(tmp_path / "logs" / "run-42.log", "\n".join([*lines, *steps(range(9)), *errors, TRACEBACK]))
    job = f"command: python train.py\nlog: logs/run-42.log\nenv:\n  HF_TOKEN: hf{'_'}{ALNUM}\n"
    write(tmp_path / "jobs" / "42.yaml", job)
    for verb in VERBS:
        for extra in ([], ["--json"]):
            more = ["--head", "400"] if verb == "read-run-logs" else []
            done = cli(verb, "42", "--project", str(tmp_path), "--max-tokens", "20000", *more, *extra)
            assert done.code == 0, done.err
            assert [secret for _, secret in SECRETS if secret in done.out] == []
    shown = cli("read-run-logs", "42", "--head", str(len(lines)), "--project", str(tmp_path)).out
    assert shown.count("[REDACTED:") == len(lines)


def test_a_cut_through_a_secret_leaves_no_tail(cli: Cli, tmp_path: Path) -> None:
    line = (
        "z " * 60
        + "api_key="
        + "Ab1" * 40
        + " RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB "
        + "q " * 200
    )
    write(tmp_path / "logs" / "run-42.log", "".join(steps(range(9))) + line + "\n")
    done = cli("classify-failure", "42", "--json", "--project", str(tmp_path))
    quote = done.data["modes"][0]["evidence"][0]["quote"]
    assert "CUDA out of memory" in quote
    assert "Ab1" not in quote
    parts = re.split(r"\[REDACTED:[\w-]+\]", quote.strip("…"))
    assert all(part.strip() in line for part in parts)


def test_a_value_that_only_its_key_makes_a_secret_is_redacted(cli: Cli, project: Path) -> None:
    write(project / "jobs" / "42.yaml", f"command: x\nlog: logs/run-42.log\nresources:\n  api_token: {ALNUM}\n")
    for verb in ("debug", "gather-run-context"):
        done = cli(verb, "42", "--json", "--project", str(project))
        assert ALNUM not in done.out


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_repository_cannot_make_git_start_its_programs(cli: Cli, project: Path) -> None:
    marker = project.parent / "started"
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@b"]
    write(project / "train.txt", "a\n")
    for arguments in (["init", "-q"], ["add", "train.txt"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    write(project / ".gitattributes", "* filter=e=vil\n")
    for name in ("filter.e=vil.clean", "filter.e=vil.process", "core.fsmonitor"):
        subprocess.run([*git, "config", name, f"touch {marker}"], check=True)
    subprocess.run([*git, "config", "filter.e=vil.required", "true"], check=True)
    write(project / "train.txt", "b\n")
    os.utime(project / "train.txt", (1, 1))
    done = cli("gather-run-context", "42", "--json", "--project", str(project))
    assert done.data["dirty"] is True
    assert not marker.exists()


def snapshot(root: Path) -> list[tuple[str, int, int]]:
    """Every path below a folder with size and time."""
    return sorted((str(path), path.lstat().st_size, path.lstat().st_mtime_ns) for path in (root, *root.rglob("*")))


def test_read_verbs_write_nothing_into_the_project_and_survive_any_cache(cli: Cli, project: Path) -> None:
    write(project / ".experiment-debugger" / "config.yaml", "roots: []\n")
    before = snapshot(project)
    blocked = write_file(project.parent / "a-file")
    for cache in (str(blocked), "/proc/nothing", "relative", "/" + "a" * 300):
        for verb in VERBS if cache == "relative" else ("debug",):
            home = str(project.parent / "home")
            done = cli(verb, "42", "--project", str(project), env={"XDG_CACHE_HOME": cache, "HOME": home}, cwd=project)
            assert done.code == 0, done.err
    assert snapshot(project) == before


def write_file(path: Path) -> Path:
    write(path, "")
    return path


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONWARNINGS": "error"},
        {"PYTHONOPTIMIZE": "2"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ],
)
def test_any_interpreter_setting_will_do(cli: Cli, project: Path, env: dict[str, str]) -> None:
    for verb in ("debug", "read-run-logs"):
        done = cli(verb, "42", "--json", "--project", str(project), env=env)
        assert done.code == 0, done.err
        assert done.err == ""


def test_a_port_in_use_is_one_line(cli: Cli, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = cli("serve", "--transport", "streamable-http", "--port", str(taken.getsockname()[1]), cwd=tmp_path)
    is_one_line(done)


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("debug", {"run_id": [42]}),
    ("debug", {"run_id": "x" * 100_000}),
    ("debug", {"run_id": "42\x00"}),
    ("debug", {"run_id": "42", "project": "\x00"}),
    ("debug", {"run_id": "42", "project": "x" * 5000}),
    ("debug", {"run_id": "42", "bogus": 1}),
    ("explain", {"name": "x" * 100_000}),
    ("read_run_logs", {"run_id": 42, "pattern": "(?=(a|ab)*x)y"}),
    ("read_run_logs", {"run_id": 42, "cursor": "/etc/passwd:1"}),
]


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_server_process_outlives_wrong_arguments(project: Path, era: str) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "experiment_debugger.mcp_server"],
        env={**os.environ, "EXPERIMENT_DEBUGGER_PROJECT": str(project)},
    )
    async with Client(parameters, mode=era) as client:
        for tool, arguments in WRONG:
            result = await client.call_tool(tool, arguments)
            (block,) = result.content
            assert isinstance(block, TextContent)
            assert result.is_error, (tool, arguments)
            assert len(block.text) < 2000
            assert "\n" not in block.text.strip()
        good = await client.call_tool("classify_failure", {"run_id": 42})
        assert json.loads(json.dumps(good.structured_content))["modes"][0]["mode"] == "oom"
