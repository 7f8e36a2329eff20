"""The skill as an assistant loads it: small enough, valid, and naming only what exists and what is true."""

from __future__ import annotations

import itertools
import re
import shutil
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
import yaml

from experiment_debugger.api import COMMANDS
from experiment_debugger.cli import CLI_ONLY
from experiment_debugger.mcp_server import NAME
from experiment_debugger.models import MODES
from experiment_debugger.report.budget import tokens
from experiment_debugger.report.tables import BEGIN, END, rendered
from experiment_debugger.rules.rulebook import load_rulebook

ROOT = Path(__file__).parents[1]
SKILL = ROOT / "SKILL.md"
REFERENCES = ROOT / "references"
PLAYBOOKS = [REFERENCES / f"{mode}.md" for mode in MODES]
DOCUMENTS = [SKILL, *sorted(REFERENCES.glob("*.md"))]
TOOLS = {command.tool for command in COMMANDS}
VERBS = {command.verb for command in (*COMMANDS, *CLI_ONLY)}
PLANNED = {
    "check-training-code", "compare-runs", "write-debug-report", "append-risk-board", "hand-off",
}  # fmt: skip
"""Verbs of the contract that may be named only once they exist; install and doctor are covered as shell commands."""
SIBLINGS = {
    "run-status-monitor", "run-experiment", "result-diagnosis", "data-pipeline-manager", "research-project-memory",
    "baseline-selection-audit", "experiment-design-planner",
}  # fmt: skip
UNTRUE = [
    r"empty_cache\(\)`? frees", r"(?:AMP|autocast|mixed precision)`? halves", r"mem-per-gpu`? (?:requests|is) GPU",
    r"gain ?(?:=|of) ?2\.0", r"plot_graph", r"--profile-memory", r"--env-check", r"--device=auto", r"--log-level=DEBUG",
    r"dataset-repeats", r"torch\.cuda\.amp", r"utils\.bottleneck", r"memory_summary\(", r"\b80 ?% of (?:AI )?bugs",
    r"autocast\(dtype=torch\.float32", r"clip_grad_norm_?`? (?:exposes|shows|names) ", r"evaluation_strategy",
    r"< ?80 ?%", r"group_by_length", r"halve the batch first",
]  # fmt: skip
"""What notes on debugging say and a check refuted: facts marked wrong, and options that are gone."""
RISK_HEAD = (
    "| ID | Kind | Status | Severity | Probability | Summary | Threatens | Mitigation | Actions | Certainty | Updated |"
)
HANDOFF_HEAD = (
    "| ID | Status | Producer | Consumer | From | To | Payload | Source paths | Expected outputs | Acceptance check"
    " | Staleness trigger | Certainty | Updated |"
)
BOARD_VALUES = {
    "Kind": "novelty baseline mechanism evaluation writing execution reproducibility reviewer rebuttal",
    "Severity": "low medium high fatal",
    "Probability": "low medium high",
    "Certainty": "observed user-stated inferred stale needs-verification",
}
REPORT_STATES = ["diagnosed", "not-fixed", "fixed", "fixed, not fully verified"]


def prose(path: Path) -> str:
    """What is written by hand: the text without its generated block."""
    return re.sub(f"{BEGIN}.*{END}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def frontmatter() -> dict[str, Any]:
    return dict(yaml.safe_load(SKILL.read_text(encoding="utf-8").split("---\n")[1]))


def snippets() -> list[tuple[str, str]]:
    return [
        (path.stem, code)
        for path in DOCUMENTS
        for code in re.findall(r"```python\n(.*?)```", prose(path), flags=re.DOTALL)
    ]


def compiled(name: str) -> dict[str, Any]:
    """The functions of a playbook's snippet."""
    scope: dict[str, Any] = {}
    code: CodeType = compile(dict(snippets())[name], f"references/{name}.md", "exec")
    exec(code, scope)  # noqa: S102 (our own text)
    return scope


@pytest.mark.parametrize(
    ("name", "cap"), [("SKILL.md", 1800), ("references/failure-taxonomy.md", 1200)], ids=["skill", "taxonomy"]
)
def test_what_is_always_read_keeps_its_cap(name: str, cap: int) -> None:
    assert tokens((ROOT / name).read_text(encoding="utf-8")) <= cap


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_a_playbook_is_short_and_has_the_same_parts(path: Path) -> None:
    text = prose(path)
    assert text.startswith(f"# {path.stem}: ")
    assert text.count("\n") < 150
    parts = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    wanted = ["Cheapest test", "Which of the four", "Decision table", "Frameworks", "A fix must not change"]
    assert [part for part in parts if part in wanted] == wanted
    assert parts[-1] == "In the report"
    assert "| only silences |" in text


def test_the_reference_validator_accepts_the_skill(tmp_path: Path) -> None:
    skills_ref = pytest.importorskip("skills_ref")
    folder = tmp_path / "experiment-debugger"
    folder.mkdir()
    shutil.copy(SKILL, folder)
    for name in ("references", "agents"):
        shutil.copytree(ROOT / name, folder / name)
    assert skills_ref.validate(folder) == []


def test_the_description_triggers_in_both_languages() -> None:
    description = frontmatter()["description"]
    assert description.startswith("Use when ")
    assert len(description) <= 1024
    assert 'description: "' in SKILL.read_text(encoding="utf-8"), "unquoted, a colon in it breaks strict parsers"
    for words in ("debug run 42", "NaN", "CUDA out of memory", "slow", "hangs", "crashed", "reproduce"):
        assert words in description, words
    for words in ("调试", "训练崩溃", "显存不足", "无法复现"):
        assert words in description, words
    assert {skill for skill in SIBLINGS if skill in description} >= {
        "run-status-monitor", "result-diagnosis", "baseline-selection-audit", "experiment-design-planner",
    }  # fmt: skip


def test_the_skill_has_eight_steps_and_leads_to_every_playbook() -> None:
    text = SKILL.read_text(encoding="utf-8")
    steps = text.partition("## Steps")[2].partition("\n## ")[0]
    assert re.findall(r"^(\d)\. \*\*", steps, flags=re.MULTILINE) == list("12345678")
    assert steps.count("Gate: ") == 8
    for text in (steps, prose(REFERENCES / "failure-taxonomy.md")):
        assert {mode for mode in MODES if f"{mode}.md)" in text} == set(MODES)
    assert "failure-taxonomy.md" in steps
    assert "memory/risk-board.md" in steps


def test_every_tool_is_introduced_by_its_full_name() -> None:
    text = SKILL.read_text(encoding="utf-8")
    for tool in TOOLS & set(re.findall(r"`(?:experiment-debugger:)?(\w+)`", text)):
        assert re.search(f"`(?:{NAME}:)?{tool}`", text)[0] == f"`{NAME}:{tool}`"  # type: ignore[index]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_only_tools_verbs_skills_and_files_that_exist_are_named(path: Path) -> None:
    text = prose(path)
    assert set(re.findall(rf"{NAME}:(\w+)", text)) <= TOOLS
    assert set(re.findall(rf"`{NAME} ([\w-]+)", text)) <= VERBS
    for verb in PLANNED - VERBS:
        spellings = {f"`{verb}", verb.replace("-", "_"), verb if verb != "hand-off" else "`hand-off"}
        assert not [spelling for spelling in spellings if spelling in text], verb
    named = re.findall(r"\]\(([^)#]+)\)", text) + [f"../{name}" for name in re.findall(r"references/[\w-]+\.md", text)]
    for name in named:
        base = ROOT / "references" if name.startswith("../") else path.parent
        assert (base / name).is_file(), name
    skills = re.findall(r"\b(?:run|result|data|research|baseline|experiment)-[a-z]+-[a-z]+\b", text)
    assert set(skills) <= SIBLINGS | VERBS


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_nothing_untrue_is_repeated(path: Path) -> None:
    for statement in UNTRUE:
        assert not re.search(statement, prose(path), flags=re.IGNORECASE), statement


def test_the_boards_and_the_report_have_the_agreed_columns_and_values() -> None:
    text = prose(REFERENCES / "handoffs.md")
    assert f"{RISK_HEAD}\n" in text
    assert f"{HANDOFF_HEAD}\n" in text
    for head in (RISK_HEAD, HANDOFF_HEAD):
        rows = text.partition(head)[2].partition("```")[0].strip().splitlines()
        assert {row.count("|") for row in rows} == {head.count("|")}
    for column, values in BOARD_VALUES.items():
        line = text.partition(f"{column}: ")[2].partition("\n")[0].partition(". ")[0]
        assert set(values.split()) <= set(re.findall(r"[\w-]+", line)), column
    assert " | ".join(REPORT_STATES) in text
    assert set(re.findall(r"^- Status: (.+)$", text, flags=re.MULTILINE)[:1]) <= set(REPORT_STATES)
    for block in re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL):
        assert isinstance(yaml.safe_load(block), dict)


def test_the_generated_tables_are_fresh() -> None:
    path = REFERENCES / "coverage.md"
    text = path.read_text(encoding="utf-8")
    assert rendered(text, load_rulebook()) == text, "run `make docs`"


def test_codex_finds_the_server_that_the_package_installs() -> None:
    data = yaml.safe_load((ROOT / "agents" / "openai.yaml").read_text(encoding="utf-8"))
    (tool,) = data["dependencies"]["tools"]
    assert (tool["type"], tool["value"], tool["transport"]) == ("mcp", NAME, "stdio")
    assert f"\n{tool['command']} = " in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "code"), snippets(), ids=[name for name, _ in snippets()])
def test_a_snippet_is_valid_python_and_explains_itself(name: str, code: str) -> None:
    compile(code, f"references/{name}.md", "exec")
    assert '"""' in code


def test_metric_snippet_finds_a_metric_that_cannot_fail() -> None:
    scope = compiled("metric-error")

    def accuracy(predictions: list[int], labels: list[int]) -> float:
        return sum(map(int.__eq__, predictions, labels)) / len(labels)

    labels = [0, 1, 2, 3, 0, 1, 2, 3, 3]
    scope["check_metric"](accuracy, labels)
    with pytest.raises(AssertionError, match="wrong predictions"):
        scope["check_metric"](lambda _predictions, _labels: 1.0, labels)
    assert scope["batch_average_gap"](accuracy, [*labels[:-1], 0], labels, 4) == pytest.approx(2 / 3 - 8 / 9)


def test_memory_snippet_separates_the_sample_from_the_fixed_cost() -> None:
    pytest.importorskip("torch")
    assert compiled("oom")["cost"](1000, 600, 8) == (100, 200)


def test_nan_snippet_names_the_first_module() -> None:
    torch = pytest.importorskip("torch")
    first = compiled("nan-gradient")["first_nonfinite"]

    class Log(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return torch.log(x)

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), Log(), torch.nn.BatchNorm1d(4))
    x = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    assert first(model, x, device_type="cpu") == "2 (Log), input finite: True"
    assert torch.isfinite(model[3].running_mean).all(), "the model itself is left alone"
    assert first(model[0], x * float("nan"), device_type="cpu") == "input"
    assert first(model[0], x, device_type="cpu").startswith("all finite")


def test_silent_snippet_sees_an_optimizer_of_another_model() -> None:
    torch = pytest.importorskip("torch")
    scope = compiled("silent-error")
    model, other = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)
    x, y = torch.randn(8, 4), torch.arange(8) % 3
    seen = {}
    for held in (model, other):
        optimizer = torch.optim.SGD(held.parameters(), lr=0.1)
        seen[held] = scope["after_one_step"](model, optimizer, lambda: torch.nn.functional.cross_entropy(model(x), y))
    assert seen[model] == {"not in optimizer": [], "no gradient": [], "not moved": [], "frozen": []}
    assert seen[other]["not in optimizer"] == seen[other]["not moved"] == ["weight", "bias"]


def test_repro_snippet_is_exact_to_the_bit() -> None:
    torch = pytest.importorskip("torch")
    scope = compiled("repro-failure")
    one = {"w": torch.tensor([1.0, 2.0]), "n": torch.tensor(3)}
    two = {"w": torch.nextafter(one["w"], torch.tensor(9.0)), "n": one["n"]}
    sums = list(itertools.starmap(scope["checksum"], [(one,), (dict(one),), (two,)]))
    assert sums[0] == sums[1] != sums[2]
    assert scope["first_difference"]([("a", 1), ("b", 2)], [("a", 1), ("b", 3)]) == "b: 2 against 3"


def test_crash_and_data_snippets_point_at_the_sample() -> None:
    torch = pytest.importorskip("torch")

    class Samples(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return 5

        def __getitem__(self, index: int) -> Any:
            if index == 3:
                raise KeyError(index)
            return torch.zeros(3 if index == 1 else 2)

    scope = compiled("crash")
    assert scope["first_bad_sample"](Samples())[0] == 3
    assert [index for index, _ in scope["odd_shapes"](Samples(), [0, 1, 2])] == [1]
    assert compiled("slow-data")["Constant"](Samples())[4].shape == (2,)
