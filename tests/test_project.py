"""Where the project is, what may be read, how paths are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiment_debugger.cache import cache_folder, cache_location
from experiment_debugger.errors import DebuggerError, PathOutsideProject
from experiment_debugger.project import Project, find_project
from experiment_debugger.settings import SETTINGS_FILE


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "logs").mkdir(parents=True)
    return folder


def project_at(root: Path, **env: str) -> Project:
    return find_project(root, root, {"HOME": str(root.parent / "home"), **env})


def write_settings(root: Path, text: str) -> None:
    (root / SETTINGS_FILE).parent.mkdir(parents=True, exist_ok=True)
    (root / SETTINGS_FILE).write_text(text, encoding="utf-8")


def test_the_root_is_looked_for_in_the_contract_s_order(tmp_path: Path) -> None:
    for name in ("option", "own", "claude", "repo/deep/er"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "repo" / "configs").mkdir()
    here = tmp_path / "repo" / "deep" / "er"
    env = {"EXPERIMENT_DEBUGGER_PROJECT": str(tmp_path / "own"), "CLAUDE_PROJECT_DIR": str(tmp_path / "claude")}
    assert find_project(tmp_path / "option", here, env).root == tmp_path / "option"
    assert find_project(None, here, env).root == tmp_path / "own"
    assert find_project(None, here, {"CLAUDE_PROJECT_DIR": env["CLAUDE_PROJECT_DIR"]}).root == tmp_path / "claude"
    assert find_project(None, here, {}).root == tmp_path / "repo"
    assert find_project(None, here, {}).how == "nearest parent with configs"


@pytest.mark.parametrize("mark", [".git", "jobs", "configs", "memory"])
def test_a_marked_parent_is_the_root(tmp_path: Path, mark: str) -> None:
    (tmp_path / mark).mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert find_project(None, tmp_path / "a" / "b", {}).root == tmp_path


def test_without_a_mark_the_working_folder_is_the_root(tmp_path: Path) -> None:
    if any((parent / ".git").exists() for parent in tmp_path.parents):
        pytest.skip("the temporary folder stands in a repository")
    assert find_project(None, tmp_path, {}).root == tmp_path


def test_a_named_root_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DebuggerError, match=r"EXPERIMENT_DEBUGGER_PROJECT.*nowhere"):
        find_project(None, tmp_path, {"EXPERIMENT_DEBUGGER_PROJECT": "nowhere"})


def test_paths_are_shown_relative_then_with_home_then_absolute(root: Path) -> None:
    project = project_at(root)
    assert project.show(root / "logs" / "a.log") == "logs/a.log"
    assert project.show("logs/a.log") == "logs/a.log"
    assert project.show(root.parent / "home" / "b.log") == "~/b.log"
    assert project.show("/somewhere/c.log") == "/somewhere/c.log"


def test_paths_below_the_project_may_be_read(root: Path) -> None:
    (root / "logs" / "a.log").touch()
    assert project_at(root).confined("logs/a.log") == root / "logs" / "a.log"


@pytest.mark.parametrize("path", ["../other/a.log", "/somewhere/passwd.txt", "logs/../../other/a.log"])
def test_paths_outside_are_refused_unless_a_person_typed_them(root: Path, path: str) -> None:
    project = project_at(root)
    with pytest.raises(PathOutsideProject, match="EXPERIMENT_DEBUGGER_ROOTS"):
        project.confined(path)
    assert project.confined(path, typed=True).name == Path(path).name


def test_extra_roots_come_from_environment_and_settings(root: Path) -> None:
    for name in ("scratch", "more"):
        (root.parent / name).mkdir()
    write_settings(root, "roots: [../more]\n")
    project = project_at(root, EXPERIMENT_DEBUGGER_ROOTS=str(root.parent / "scratch"))
    assert project.roots == (root.parent / "scratch", root.parent / "more")
    assert project.may_read(root.parent / "scratch" / "x.log")
    assert project.may_read(root.parent / "more" / "x.log")


def test_a_project_s_settings_cannot_open_the_whole_disk(root: Path) -> None:
    write_settings(root, "roots: [/, /nowhere/at/all]\n")
    project = project_at(root)
    assert project.roots == ()
    assert len(project.notes) == 2


def test_a_symlink_in_an_artifact_folder_may_lead_outside(root: Path) -> None:
    scratch = root.parent / "scratch"
    (scratch / "runs" / "42").mkdir(parents=True)
    (scratch / "runs" / "42" / "train.log").touch()
    (root / "outputs").symlink_to(scratch)
    (root / "logs" / "run-42").symlink_to(scratch / "runs" / "42")
    project = project_at(root)
    assert project.confined("outputs/runs/42/train.log") == scratch / "runs" / "42" / "train.log"
    assert project.confined("logs/run-42/train.log") == scratch / "runs" / "42" / "train.log"
    assert project.may_read(scratch / "runs" / "42" / "train.log")


def test_other_symlinks_may_not_lead_outside(root: Path) -> None:
    (root.parent / "private").mkdir()
    (root / "src").symlink_to(root.parent / "private")
    assert not project_at(root).may_read("src/x.log")


@pytest.mark.parametrize("target", ["/etc", "/proc/self", "home/.ssh", "home"])
def test_symlinks_to_systems_and_hidden_folders_are_never_followed(root: Path, target: str) -> None:
    folder = root.parent / target
    if not target.startswith("/"):
        folder.mkdir(parents=True, exist_ok=True)
    (root / "logs" / "x").symlink_to(folder)
    assert not project_at(root).may_read("logs/x/secret")


def test_settings_are_read(root: Path) -> None:
    write_settings(
        root,
        "log_pattern: 'it (?P<step>\\d+)'\nkey_roles: {gn: grad_norm}\nsignatures: debug/rules\n"
        "suppressions: [{rule: gpu-idle, reason: throttled on purpose}]\n",
    )
    settings = project_at(root).settings
    assert settings.key_roles == {"gn": "grad_norm"}
    assert settings.suppressions[0].rule == "gpu-idle"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("roots: [a\nb: c: d\n", r"config\.yaml:\d: expected YAML"),
        ("key_roles: {}\nrotos: []\n", r"config\.yaml:2: rotos: Extra inputs"),
        (
            "suppressions:\n  - {rule: abc, reason: because}\n  - {rule: abc}\n",
            r"config\.yaml:3: suppressions\.1\.reason",
        ),
        ("log_pattern: '('\n", r"config\.yaml:1: log_pattern: .*does not compile"),
        ("log_pattern: 'x'\n", "no named group"),
        ("- a\n", r"config\.yaml:1"),
    ],
)
def test_broken_settings_are_one_clear_error(root: Path, text: str, message: str) -> None:
    write_settings(root, text)
    with pytest.raises(DebuggerError, match=message) as caught:
        project_at(root)
    assert "\n" not in str(caught.value)


def test_the_cache_folder_follows_the_platform(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert cache_location({"XDG_CACHE_HOME": "/x", **home}, "linux") == Path("/x/experiment-debugger")
    assert (
        cache_location({"XDG_CACHE_HOME": "relative", **home}, "linux") == tmp_path / ".cache" / "experiment-debugger"
    )
    assert cache_location(home, "darwin") == tmp_path / "Library" / "Caches" / "experiment-debugger"
    assert cache_location({"LOCALAPPDATA": "/local"}, "win32") == Path("/local/experiment-debugger/Cache")


def test_the_cache_folder_is_created_lazily_and_private(root: Path) -> None:
    project = project_at(root, XDG_CACHE_HOME=str(root.parent / "cache"))
    assert not (root.parent / "cache").exists()
    assert project.cache.stat().st_mode & 0o077 == 0


def test_a_cache_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DebuggerError, match="XDG_CACHE_HOME"):
        cache_folder({"XDG_CACHE_HOME": str(tmp_path / "file")})
