"""The folder of a smoke test: what it holds, what it leaves alone, and that it goes away."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from repositories import ARTIFACTS, commit, contents, git, repository, workspace, worktrees
from samples import write

from experiment_debugger.errors import DebuggerError
from experiment_debugger.project import Project

HOSTILE = """
import os, pathlib, sys
for name in ("outputs/42/last.pt", sys.argv[1]):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    pathlib.Path(name).write_text("overwritten")
pathlib.Path("train.py").write_text("broken")
os.makedirs("outputs/closed/a")
pathlib.Path("outputs/closed/a/b").write_text("x")
os.chmod("outputs/closed/a", 0o500)
os.chmod("outputs/closed", 0o500)
os.remove(".git")
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


def cache(root: Path) -> Path:
    return Project(root).cache / "worktrees"


def test_it_is_the_tree_of_the_commit(root: Path) -> None:
    first = git(root, "rev-parse", "HEAD")
    commit(root, {"train.py": "print('fixed')\n"})
    made = workspace(root, at=first[:8])
    assert (made.commit, made.dirty, made.in_place) == (first, False, False)
    assert (made.folder / "train.py").read_text(encoding="utf-8") == "print('trains')\n"
    assert made.argv == ("python", "train.py")
    assert stat.S_IMODE(made.folder.parent.stat().st_mode) == 0o700
    made.remove()


def test_the_working_tree_is_untouched_and_nothing_is_left(root: Path) -> None:
    commit(root, {"hostile.py": HOSTILE})
    write(root / "train.py", "changed by hand\n")
    before = contents(root)
    own = str(root / "outputs/42/last.pt")
    made = workspace(root, sys.executable, "hostile.py", own)
    subprocess.run(made.argv, cwd=made.folder, check=True)
    assert (made.folder / "outputs/42/last.pt").read_text(encoding="utf-8") == "overwritten"
    made.remove()
    assert contents(root) == before
    assert worktrees(root) == 1
    assert os.listdir(cache(root)) == []
    assert git(root, "fsck") == ""


def test_another_process_can_remove_it(root: Path, tmp_path: Path) -> None:
    made = workspace(root)
    for argv in made.cleanup:
        subprocess.run(argv, cwd=tmp_path, check=True, env={"PATH": os.environ["PATH"]})
    assert (made.folder.exists(), worktrees(root), os.listdir(cache(root))) == (False, 1, [])
    made.remove()


def test_another_worktree_of_the_user_stays_even_when_its_disk_is_away(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "--quiet", "--detach", str(tmp_path / "usb" / "theirs"))
    os.rename(tmp_path / "usb", tmp_path / "unplugged")
    workspace(root).remove()
    assert "theirs" in git(root, "worktree", "list")


def test_leftovers_of_the_dead_go_and_those_of_the_living_stay(root: Path) -> None:
    ours = workspace(root, name="s-living")
    dead = workspace(root, name="s-dead")
    owner = cache(root) / "s-dead.owner"
    said = json.loads(owner.read_text(encoding="utf-8"))
    owner.write_text(json.dumps({**said, "started": said["started"] - 1000.0}), encoding="utf-8")
    third = workspace(root, name="s-third")
    assert (ours.folder.exists(), dead.folder.exists(), third.folder.exists()) == (True, False, True)
    ours.remove()
    third.remove()
    assert worktrees(root) == 1


def test_a_worktree_of_another_host_stays(root: Path) -> None:
    theirs = workspace(root, name="s-theirs")
    owner = cache(root) / "s-theirs.owner"
    said = json.loads(owner.read_text(encoding="utf-8"))
    owner.write_text(json.dumps({**said, "pid": 2**22 + 1, "host": "another"}), encoding="utf-8")
    workspace(root, name="s-ours").remove()
    assert theirs.folder.exists()
    os.utime(owner, (1, 1))
    workspace(root, name="s-later").remove()
    assert not theirs.folder.exists()


def test_hooks_and_filters_of_the_repository_do_not_run(root: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        write(root / ".git/hooks" / hook, f"#!/bin/sh\ntouch '{ran}'\n")
        (root / ".git/hooks" / hook).chmod(0o755)
    commit(root, {".gitattributes": "*.py filter=own\n"})
    ran.unlink(missing_ok=True)
    git(root, "config", "filter.own.smudge", f"touch '{ran}'; cat")
    git(root, "config", "filter.own.clean", f"touch '{ran}'; cat")
    write(root / "train.py", "changed\n")
    workspace(root, at=None, uncommitted=True).remove()
    assert not ran.exists()


def test_paths_with_spaces_unicode_and_leading_dashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "my cache"))
    root = repository(tmp_path / "-über projekt", {"-x y.py": "1\n", "größe.py": "2\n"})
    write(root / "data set" / "a b.csv", "1\n")
    before = contents(root)
    made = workspace(root, "python", "./-x y.py", "--data", "data set/a b.csv")
    assert (made.linked, made.missing) == (("data set",), ())
    assert (made.folder / "größe.py").exists()
    made.remove()
    assert contents(root) == before


def test_a_repository_that_is_itself_a_worktree(root: Path, tmp_path: Path) -> None:
    side = tmp_path / "side"
    git(root, "worktree", "add", "--quiet", "--detach", str(side))
    write(side / "data/train.csv", "of the side\n")
    made = workspace(side, "python", "train.py", "--data", "data/train.csv")
    assert os.readlink(made.folder / "data") == str(side / "data")
    made.remove()
    assert worktrees(root) == 2


def test_git_variables_of_a_hook_lead_nowhere(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = repository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    made = workspace(root)
    made.remove()
    monkeypatch.delenv("GIT_DIR")
    assert made.commit == git(root, "rev-parse", "HEAD")


def test_in_place_runs_although_the_commit_of_the_run_is_gone(root: Path) -> None:
    made = workspace(root, in_place=True, at="0123456")
    assert made.notes[-1].endswith("not commit 0123456")


def test_the_cache_may_lie_on_another_file_system(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Path("/dev/shm")  # noqa: S108
    if not shared.is_dir() or shared.stat().st_dev == root.stat().st_dev:
        pytest.skip("one file system only")
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
        made = workspace(root, "python", "train.py", "--data", "data/train.csv", "--resume", "outputs/42/last.pt")
        assert (made.folder / "data/train.csv").exists()
        assert (made.folder / "outputs/42/last.pt").exists()
        made.remove()


def test_large_files_come_from_the_store_of_lfs(root: Path) -> None:
    content = b"\0weights" * 1000
    digest = hashlib.sha256(content).hexdigest()
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n"
    store = root / ".git/lfs/objects" / digest[:2] / digest[2:4]
    store.mkdir(parents=True)
    (store / digest).write_bytes(content)
    commit(
        root,
        {
            ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
            "model.bin": pointer.format(digest, len(content)),
            "gone.bin": pointer.format("0" * 64, 5),
        },
    )
    git(root, "config", "filter.lfs.smudge", "false")
    git(root, "config", "filter.lfs.required", "true")
    made = workspace(root)
    assert (made.folder / "model.bin").read_bytes() == content
    assert made.missing == ("gone.bin (git LFS): its content is not here; `git lfs fetch`",)
    made.remove()


@pytest.mark.parametrize("damaged", [False, True])
def test_a_repository_above_the_project_is_not_its_own(root: Path, *, damaged: bool) -> None:
    inner = root / "inner"
    write(inner / "train.py", "1\n")
    if damaged:
        (inner / ".git").mkdir()
    with pytest.raises(DebuggerError, match=r"git repository|commit"):
        workspace(inner, artifacts=())
    assert worktrees(root) == 1


def test_without_git_only_in_place(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    write(root / "train.py", "1\n")
    with pytest.raises(DebuggerError, match=r"found none; .*--in-place"):
        workspace(root)
    made = workspace(root, in_place=True)
    assert (made.folder, made.commit, made.dirty, made.cleanup) == (root, None, None, ())
    made.remove()
    assert (root / "train.py").exists()


def test_in_place_says_what_is_tested(root: Path) -> None:
    first = git(root, "rev-parse", "HEAD")
    now = commit(root, {"train.py": "2\n"})
    write(root / "train.py", "3\n")
    made = workspace(root, in_place=True, at=first)
    assert (made.commit, made.dirty) == (now, True)
    assert f"not commit {first}" in made.notes[-1]


def test_a_repository_without_a_commit_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "new"
    root.mkdir()
    git(root, "init", "--quiet")
    with pytest.raises(DebuggerError, match="none yet"):
        workspace(root, at=None, uncommitted=True)


@pytest.mark.parametrize("name", ["0123456789abcdef0123456789abcdef01234567", "--help", "", "HEAD HEAD", "no/such"])
def test_a_commit_that_is_not_there_is_named(root: Path, name: str) -> None:
    if not name:
        assert workspace(root, at=None).commit == git(root, "rev-parse", "HEAD")
        return
    with pytest.raises(DebuggerError, match="fetch it or name another commit"):
        workspace(root, at=name)


def test_a_shallow_clone_says_so(root: Path, tmp_path: Path) -> None:
    first = git(root, "rev-parse", "HEAD")
    commit(root, {"train.py": "2\n"})
    git(tmp_path, "clone", "--quiet", "--depth=1", root.as_uri(), "shallow")
    with pytest.raises(DebuggerError, match="git fetch --unshallow"):
        workspace(tmp_path / "shallow", at=first)


def test_uncommitted_work_is_brought_as_it_is(root: Path) -> None:
    commit(root, {"a.py": "1\n", "gone.py": "1\n", "pkg/m.py": "1\n", "blob.bin": "a\0b", "run.sh": "#!/bin/sh\n"})
    write(root / "a.py", "staged\n")
    git(root, "add", "a.py")
    write(root / "a.py", "staged and changed\r\n")
    (root / "blob.bin").write_bytes(b"\0\xff\r\n")
    (root / "run.sh").chmod(0o755)
    (root / "gone.py").unlink()
    write(root / "new/tool.py", "new\n")
    write(root / "new/venv/pyvenv.cfg", "home = /usr\n")
    write(root / "results/x.csv", "evidence\n")
    write(root / "huge.txt", "x" * (5 << 20))
    before = contents(root)
    made = workspace(root, at=None, uncommitted=True)
    assert made.dirty
    assert (made.folder / "a.py").read_bytes() == b"staged and changed\r\n"
    assert (made.folder / "blob.bin").read_bytes() == b"\0\xff\r\n"
    assert os.access(made.folder / "run.sh", os.X_OK)
    assert (made.folder / "new/tool.py").exists()
    absent = ("gone.py", "new/venv", "results/x.csv", "huge.txt")
    assert not [name for name in absent if (made.folder / name).exists()]
    made.remove()
    assert contents(root) == before


def test_a_folder_that_became_a_link_deletes_nothing_behind_it(root: Path, tmp_path: Path) -> None:
    commit(root, {"cfg/a.yaml": "a: 1\n"})
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere / "a.yaml", "a: 2\n")
    (root / "cfg/a.yaml").unlink()
    (root / "cfg").rmdir()
    (root / "cfg").symlink_to(elsewhere)
    git(root, "add", "cfg")
    made = workspace(root, at=None, uncommitted=True)
    assert (made.folder / "cfg/a.yaml").read_text(encoding="utf-8") == "a: 2\n"
    made.remove()
    assert (elsewhere / "a.yaml").exists()


def test_a_clean_working_tree_is_not_dirty(root: Path) -> None:
    made = workspace(root, at=None, uncommitted=True)
    assert made.dirty is False
    made.remove()


def test_a_submodule_is_the_one_that_is_checked_out(root: Path, tmp_path: Path) -> None:
    library = repository(tmp_path / "library", {"lib.py": "1\n"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(library), "third/lib")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(library), "third/absent")
    commit(root, {})
    git(root, "submodule", "deinit", "--quiet", "--force", "third/absent")
    made = workspace(root)
    assert (made.folder / "third/lib/lib.py").exists()
    assert "third/lib: the submodule as it is checked out now" in made.notes
    assert made.missing == ("third/absent (a submodule): not checked out in the project",)
    made.remove()
    assert (root / "third/lib/lib.py").exists()
    assert worktrees(root) == 1


@pytest.mark.parametrize("change", ["none", "commit", "edit", "new file", "data"])
def test_a_submodule_that_is_not_what_the_commit_says_makes_it_dirty(root: Path, tmp_path: Path, change: str) -> None:
    library = repository(tmp_path / "library", {"lib.py": "1\n"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(library), "lib")
    commit(root, {})
    if change == "commit":
        commit(root / "lib", {"lib.py": "2\n"})
    elif change != "none":
        write(root / "lib" / {"edit": "lib.py", "new file": "new.py", "data": "data/x.csv"}[change], "3\n")
    made = workspace(root)
    made.remove()
    moved = change not in {"none", "data"}  # data is ignored by git there
    assert made.dirty is moved
    assert ("lib: the submodule as it is now, which is not what the commit says" in made.notes) is moved


@pytest.mark.parametrize(
    ("files", "code", "dirty"),
    [
        ({"__init__.py": ""}, "import local", True),
        ({"fix.py": ""}, "from local import fix", True),
        ({"pkg/__init__.py": ""}, "import pkg", True),
        ({"model.py": ""}, "from model import Net", True),
        ({"download.py": "", "a.csv": "1"}, "import csv", False),
        ({"pyvenv.cfg": "", "lib/pkg/__init__.py": ""}, "import pkg", False),
        ({"a.csv": "1"}, "import csv", False),
    ],
)
def test_linked_code_makes_it_dirty(root: Path, files: dict[str, str], code: str, *, dirty: bool) -> None:
    commit(root, {"train.py": f'{code}\nPATH = "local"\n'})
    for name, text in files.items():
        write(root / "local" / name, text)
    made = workspace(root)
    made.remove()
    assert "local" in made.linked
    assert made.dirty is dirty
    assert ("local holds code that no commit holds: taken as it is now" in made.notes) is dirty


def test_tracked_links_into_outputs_become_folders(root: Path, tmp_path: Path) -> None:
    scratch, datasets = tmp_path / "scratch", tmp_path / "datasets"
    write(scratch / "logs/run-42.log", "evidence\n")
    write(scratch / "tb/events", "evidence\n")
    write(datasets / "x.csv", "1\n")
    commit(root, {"configs/a.yaml": "a: 1\n"})
    git(root, "rm", "--quiet", "-r", "--cached", "--ignore-unmatch", "logs")
    os.rename(root / "logs", root / "old")
    for name, target in {
        "logs": str(scratch / "logs"),
        "tb": str(scratch / "tb"),
        "sets": "../datasets",
        "now.yaml": str(root / "configs/a.yaml"),
    }.items():
        (root / name).symlink_to(target)
        git(root, "add", "--force", name)
    commit(root, {})
    made = workspace(root, artifacts=(*ARTIFACTS, str(scratch / "tb/events")))
    for name in ("logs", "tb"):
        assert (made.folder / name).is_dir()
        assert not (made.folder / name).is_symlink()
        assert any(note.startswith(f"{name} leads to") for note in made.notes)
    assert (made.folder / "sets/x.csv").exists()
    assert Path(os.path.realpath(made.folder / "now.yaml")) == Path(os.path.realpath(made.folder)) / "configs/a.yaml"
    made.remove()
    assert (scratch / "logs/run-42.log").exists()


def test_links_to_a_place_with_data_and_evidence_are_followed_in_parts(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    for name in ("sets/x.csv", "tries/42/last.pt", "tries/42/other.pt", "tries/41/last.pt"):
        write(store / name, f"{name}\n")
    for name in ("tracked", "ignored"):
        (root / name).symlink_to(store)
    git(root, "add", "tracked")
    commit(root, {"train.py": 'open("ignored/sets/x.csv")\n'})
    before = contents(store)
    own = str(store / "tries/42/last.pt")
    made = workspace(root, "python", "train.py", "--resume", "ignored/tries/42/last.pt", artifacts=(own,))
    for name in ("tracked", "ignored"):
        assert not (made.folder / name).is_symlink()
        assert (made.folder / name / "sets/x.csv").exists()
        assert not (made.folder / name / "tries/42/other.pt").exists()
    write(made.folder / "ignored/tries/42/last.pt", "overwritten")
    assert made.copied == ("ignored/tries/42/last.pt",)
    made.remove()
    assert contents(store) == before
