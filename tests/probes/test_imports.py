"""A callback after an import leaves the module as it was."""

from __future__ import annotations

import importlib
import importlib.resources
import importlib.util
import inspect
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiment_debugger.probes.inside import imports


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    folder = tmp_path / "watched_pkg"
    folder.mkdir()
    (folder / "__init__.py").write_text("VALUE = 1\n")
    (folder / "broken.py").write_text("raise RuntimeError('not yet')\n")
    (folder / "data.txt").write_text("data")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = list(sys.meta_path)
    yield "watched_pkg"
    sys.meta_path[:] = before
    for name in [name for name in sys.modules if name.startswith("watched_pkg")]:
        del sys.modules[name]


def test_all_callbacks_run_once_with_the_finished_module(package: str) -> None:
    seen: list[Any] = []
    before = list(sys.meta_path)
    imports.when_imported(package, lambda module: seen.append(("first", module.VALUE)))
    imports.when_imported(package, lambda module: seen.append(("second", module.VALUE)))
    assert seen == []
    module = importlib.import_module(package)
    assert seen == [("first", 1), ("second", 1)]
    assert list(sys.meta_path) == before
    importlib.reload(module)
    assert len(seen) == 2
    imports.when_imported(package, lambda module: seen.append(("late", module.VALUE)))
    assert seen[2:] == [("late", 1)]


def test_loader_spec_and_resources_are_the_modules_own(package: str) -> None:
    plain = importlib.import_module(package)
    expected = (type(plain.__loader__), type(plain.__spec__.loader if plain.__spec__ else None))
    del sys.modules[package]
    imports.when_imported(package, lambda _: None)
    found = importlib.util.find_spec(package)
    assert found is not None
    assert type(found.loader) is expected[0]
    module = importlib.import_module(package)
    assert module.__spec__ is not None
    assert (type(module.__loader__), type(module.__spec__.loader)) == expected
    assert "exec_module" not in vars(module.__loader__)
    assert importlib.resources.files(package).joinpath("data.txt").read_text() == "data"
    assert inspect.getsource(module) == "VALUE = 1\n"


def test_a_failing_import_keeps_the_callback_for_the_next_one(package: str, tmp_path: Path) -> None:
    seen: list[str] = []
    name = f"{package}.broken"
    imports.when_imported(name, lambda module: seen.append(module.__name__))
    with pytest.raises(RuntimeError, match="not yet"):
        importlib.import_module(name)
    (tmp_path / package / "broken.py").write_text("")
    importlib.invalidate_caches()
    importlib.import_module(name)
    assert seen == [name]


def test_threads_that_import_at_once_call_back_once(package: str) -> None:
    seen: list[Any] = []
    imports.when_imported(package, seen.append)
    threads = [threading.Thread(target=importlib.import_module, args=(package,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 1


def test_a_module_that_does_not_exist_stays_missing(package: str) -> None:
    imports.when_imported(f"{package}.missing", pytest.fail)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{package}.missing")
