"""Checkpoints that torch and the trainers really write, and files that only look like them: nothing is executed."""

from __future__ import annotations

import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.checkpoints.checkpoint import Checkpoint, read_checkpoint
from experiment_debugger.readers.checkpoints.differences import compare_checkpoints
from experiment_debugger.readers.checkpoints.values import values_of

torch = pytest.importorskip("torch")


def trained(steps: int = 1, seed: int = 0) -> tuple[Any, Any, Any]:
    """A model, its optimizer and its scheduler after some steps."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2))
    model[2].weight.requires_grad_(requires_grad=False)
    optimizer = torch.optim.Adam([one for one in model.parameters() if one.requires_grad])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).square().sum().backward()
        optimizer.step()
        scheduler.step()
    return model, optimizer, scheduler


def whole(path: Path, *, new: bool = True, **more: Any) -> Path:
    model, optimizer, scheduler = trained()
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "rng_state": torch.get_rng_state(),
        "step": 7,
        "epoch": 2,
    }
    torch.save({**state, **more}, path, _use_new_zipfile_serialization=new)
    return path


def facts(found: Checkpoint) -> dict[str, tuple[int, ...]]:
    return {tensor.key: tensor.shape for tensor in found.tensors}


@pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])
def test_what_torch_saves_is_read_in_both_of_its_forms(tmp_path: Path, *, new: bool) -> None:
    found = read_checkpoint(whole(tmp_path / "last.pt", new=new))
    model, *_ = trained()
    assert facts(found) == {key: tuple(value.shape) for key, value in model.state_dict().items()}
    assert (found.step, found.epoch, found.damage, found.hostile, found.foreign) == (7, 2, None, (), ())
    assert found.state == {"optimizer": True, "scheduler": True, "rng": True, "scaler": False, "sampler": False}
    assert found.format == ("torch-zip" if new else "torch-legacy")


@pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_nan_infinity_and_zeros_are_counted_in_every_format(tmp_path: Path, dtype: str, *, new: bool) -> None:
    numbers = torch.tensor([1.0, float("nan"), float("inf"), -2.0, float("-inf"), 0.0])
    path = tmp_path / "a.pt"
    state = {"bad": numbers.to(getattr(torch, dtype)), "zero": torch.zeros(5).to(getattr(torch, dtype))}
    torch.save(state, path, _use_new_zipfile_serialization=new)
    bad, zero = (values_of(tensor) for tensor in read_checkpoint(path).tensors)
    assert bad is not None
    assert zero is not None
    if dtype == "float8_e4m3fn":  # has no infinity
        assert bad.nan >= 1
    else:
        assert (bad.nan, bad.inf) == (1, 2)
    assert (bad.all_zero, zero.all_zero, zero.nan) == (False, True, 0)


def test_a_view_is_read_at_its_place(tmp_path: Path) -> None:
    whole_tensor = torch.arange(10.0)
    whole_tensor[7] = float("nan")
    torch.save({"head": whole_tensor[:5], "tail": whole_tensor[5:]}, tmp_path / "a.pt")
    head, tail = (values_of(tensor) for tensor in read_checkpoint(tmp_path / "a.pt").tensors)
    assert [head and head.nan, tail and tail.nan] == [0, 1]


def test_lightning_and_a_whole_module_and_wrapped_states(tmp_path: Path) -> None:
    model, optimizer, scheduler = trained()
    lightning = {
        "epoch": 3, "global_step": 1200, "pytorch-lightning_version": "2.5.0", "state_dict": model.state_dict(),
        "optimizer_states": [optimizer.state_dict()], "lr_schedulers": [scheduler.state_dict()], "loops": {"a": 1},
    }  # fmt: skip
    torch.save(lightning, tmp_path / "last.ckpt")
    found = read_checkpoint(tmp_path / "last.ckpt")
    assert (found.format, found.step, found.epoch) == ("lightning", 1200, 3)
    assert found.state == {"optimizer": True, "scheduler": True, "rng": False, "scaler": False, "sampler": True}
    torch.save(model, tmp_path / "module.pt")
    module = read_checkpoint(tmp_path / "module.pt")
    assert "torch.nn.modules.container.Sequential" in module.foreign
    assert not module.hostile


def safetensors(path: Path, tensors: dict[str, tuple[str, list[int], bytes]]) -> Path:
    header, body = dict[str, Any](), b""
    for key, (dtype, shape, raw) in tensors.items():
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


def test_safetensors_and_a_folder_of_shards(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint-500"
    folder.mkdir()
    weights = {"a": ("F32", [2], struct.pack("<2f", 1, float("nan")))}
    safetensors(folder / "model-1.safetensors", weights)
    safetensors(folder / "model-2.safetensors", {"b": ("BF16", [1], b"\x80\x3f")})
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    (folder / "trainer_state.json").write_text('{"global_step": 500, "epoch": 1.5}', encoding="utf-8")
    (folder / "optimizer.pt").write_bytes(b"x")
    found = read_checkpoint(folder)
    assert facts(found) == {"a": (2,), "b": (1,)}
    assert (found.step, found.epoch, found.format) == (500, 1, "hf-folder")
    assert found.state == {"optimizer": True, "scheduler": False, "rng": False, "scaler": False, "sampler": False}
    assert (values := values_of(found.tensors[0])) is not None
    assert values.nan == 1
    (folder / "model-2.safetensors").unlink()
    assert read_checkpoint(folder).damage == "missing: model-2.safetensors"


class Hostile:
    """What a hostile pickle holds: a call that would leave a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("kind", ["zip", "legacy", "bare"])
def test_a_hostile_pickle_does_nothing_and_is_named(tmp_path: Path, kind: str) -> None:
    trace, path = tmp_path / "trace", tmp_path / "evil.pt"
    if kind == "bare":
        path.write_bytes(pickle.dumps({"model": Hostile(trace)}))
    else:
        torch.save(
            {"model": {"w": torch.ones(2)}, "x": Hostile(trace)}, path, _use_new_zipfile_serialization=kind == "zip"
        )
    found = read_checkpoint(path)
    assert found.hostile == ("posix.system",)
    assert not trace.exists()


MARKS = b"\x80\x02" + b"(" * 200_000 + b"."
FOREIGN: list[tuple[str, Callable[[Path], object], str]] = [
    ("empty.pt", lambda path: path.write_bytes(b""), "found an empty file"),
    ("page.bin", lambda path: path.write_bytes(b"<!DOCTYPE html><html>"), "HTML"),
    ("lfs.pt", lambda path: path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid x"), "Git LFS pointer"),
    ("keras.ckpt", lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n" + b"x" * 50), "HDF5"),
    ("text.pth", lambda path: path.write_bytes(b"hello, I am no checkpoint\n"), "expected a checkpoint"),
    ("marks.pt", lambda path: path.write_bytes(MARKS), "expected a checkpoint"),
    ("short.safetensors", lambda path: path.write_bytes(b"\x10\0\0\0\0\0\0\0{"), "found none"),
    ("bad.safetensors", lambda path: path.write_bytes(struct.pack("<Q", 4) + b"nope"), "expected a safetensors header"),
    ("other.pt", lambda path: zipfile.ZipFile(path, "w").writestr("a.txt", "x"), "a zip file without data.pkl"),
]


@pytest.mark.parametrize(("name", "make", "words"), FOREIGN, ids=[name for name, _, _ in FOREIGN])
def test_a_foreign_file_is_one_clear_line(
    tmp_path: Path, name: str, make: Callable[[Path], object], words: str
) -> None:
    make(tmp_path / name)
    with pytest.raises(UnreadableArtifact) as caught:
        read_checkpoint(tmp_path / name)
    assert words in str(caught.value)
    assert str(caught.value).startswith(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_file_that_is_cut_short_is_told(tmp_path: Path, share: float, *, new: bool) -> None:
    path = whole(tmp_path / "a.pt", new=new, big=torch.randn(1000))
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    try:
        damage = read_checkpoint(path).damage or ""
    except UnreadableArtifact as problem:
        damage = str(problem)
    assert damage or (share == 0.99 and not new), "the last storage is not the model's"
    assert "\n" not in damage


def test_two_checkpoints_are_compared_by_keys_shapes_and_numbers(tmp_path: Path) -> None:
    first, second = trained(1)[0].state_dict(), trained(5)[0].state_dict()
    torch.save({"model": first, "step": 1}, tmp_path / "a.pt")
    renamed = {f"module.{key}": value for key, value in second.items() if key != "0.bias"}
    torch.save({"model": {**renamed, "module.2.bias": torch.zeros(3), "new": torch.ones(1)}}, tmp_path / "b.pt")
    found = compare_checkpoints(read_checkpoint(tmp_path / "a.pt"), read_checkpoint(tmp_path / "b.pt"))
    assert found.missing == ("0.bias",)
    assert found.unexpected == ("new",)
    assert ("0.weight", "module.0.weight") in found.renamed
    assert found.reshaped == (("2.bias", "[2] float32 -> [3] float32"),)
    assert found.frozen == ("2.weight",)
    assert found.moved == 5


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_a_large_file_is_scanned_in_little_memory(tmp_path: Path) -> None:
    path, size = tmp_path / "large.safetensors", 2 << 30
    header = json.dumps({"w": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}).encode()
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(header)) + header)
        stream.truncate(8 + len(header) + size)
        stream.seek(8 + len(header) + size - 4)
        stream.write(struct.pack("<f", float("nan")))
    code = (
        "import sys, pathlib\n"
        "from experiment_debugger.readers.checkpoints.checkpoint import read_checkpoint\n"
        "from experiment_debugger.readers.checkpoints.values import values_of\n"
        "found = values_of(read_checkpoint(pathlib.Path(sys.argv[1])).tensors[0])\n"
        "peak = pathlib.Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0]\n"
        "print(found.nan, int(peak) // 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    nan, mebibytes = map(int, done.stdout.split())
    assert nan == 1
    assert mebibytes < 300
