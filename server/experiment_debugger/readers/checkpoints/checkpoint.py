"""One checkpoint, whatever wrote it: its model's tensors, how far it is, which state it carries, what is wrong with it.

checkpoint-500/                step 500; optimizer, scheduler and rng present, scaler missing; 148 tensors
last.ckpt (Lightning)          step 1200, epoch 3; optimizer, scheduler present
model.safetensors              148 tensors, nothing to resume from
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.checkpoints.hostile import hostile_names, other_names
from experiment_debugger.readers.checkpoints.pickles import Call
from experiment_debugger.readers.checkpoints.safetensors_files import read_safetensors
from experiment_debugger.readers.checkpoints.tensors import Tensor
from experiment_debugger.readers.checkpoints.torch_files import Places, read_torch, tensor_of

SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".safetensors")
STATE: dict[str, tuple[str, ...]] = {
    "optimizer": ("optimizer", "optimizer_states", "optimizer_state_dict", "optim", "opt", "optimizers"),
    "scheduler": ("scheduler", "lr_scheduler", "lr_schedulers", "scheduler_state_dict", "sched"),
    "rng": ("rng", "rng_state", "rng_states", "random_rng_state", "cpu_rng_state", "torch_rng_state", "cuda_rng_state"),
    "scaler": ("scaler", "grad_scaler", "scaler_state_dict", "amp", "native_amp_scaling_state", "amp_state"),
    "sampler": ("sampler", "sampler_state", "dataloader", "data_iter", "loops", "train_dataloader", "consumed_samples"),
}
"""Names under which the parts of a resume are kept, by what they are."""
_MODELS = ("state_dict", "model_state_dict", "model", "module", "net", "network", "params", "weights", "ema", "teacher")
_STEPS = ("global_step", "step", "global_steps", "iteration", "iter", "num_updates", "steps", "current_step")
_EPOCHS = ("epoch", "current_epoch", "epochs")
_FOLDER_STATE = {
    "optimizer": ("optimizer.pt", "optimizer.bin"),
    "scheduler": ("scheduler.pt", "scheduler.bin"),
    "rng": ("rng_state.pth", "rng_state_0.pth", "random_states_0.pkl"),
    "scaler": ("scaler.pt",),
    "sampler": ("sampler.bin", "dl_state_dict.bin"),
}
DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a checkpoint holds.

    `state`: which parts of a resume are present (None: bare weights); `foreign` and `hostile` are names that loading it
    would import; `damage` says what is cut short or missing.
    """

    path: Path
    format: str
    tensors: tuple[Tensor, ...]
    step: int | None = None
    epoch: int | None = None
    state: dict[str, bool] | None = None
    foreign: tuple[str, ...] = ()
    hostile: tuple[str, ...] = ()
    damage: str | None = None


def is_checkpoint(path: Path) -> bool:
    """Whether a path looks like one: by its extension, or a folder that trainers write."""
    return path.suffix in SUFFIXES if path.is_file() else path.is_dir() and bool(_parts_of(path))


def read_checkpoint(path: Path) -> Checkpoint:
    """What a checkpoint holds, without executing any of it; `UnreadableArtifact` with one line where it is none."""
    try:
        if path.is_dir():
            return _folder(path)
        _refuse_foreign(path)
        if path.suffix == ".safetensors":
            tensors, damage = read_safetensors(path)
            return Checkpoint(path, "safetensors", tuple(tensors), damage=damage)
        return _torch(path)
    except OSError as problem:
        raise UnreadableArtifact(f"{path.name}: {(problem.strerror or str(problem)).lower()}") from None


def _refuse_foreign(path: Path) -> None:
    """Say what a file is that only has the name of a checkpoint."""
    with path.open("rb") as stream:
        head = stream.read(64)
    kinds = (
        (b"version https://git-lfs", "a Git LFS pointer: `git lfs pull` fetches the file"),
        (b"\x89HDF\r\n", "an HDF5 file (Keras), which is not read"),
        (b"<", "HTML or XML: the download answered with a page"),
        (b"{", "JSON"),
    )
    found = next((what for mark, what in kinds if head.lstrip().startswith(mark)), None if head else "an empty file")
    if found is not None:
        raise UnreadableArtifact(f"{path.name}: expected a checkpoint; found {found}")


def _torch(path: Path) -> Checkpoint:
    pickled, places, form = read_torch(path)
    value = _plain(pickled.value)
    tensors = tuple(_model_tensors(value, places))
    lost = next((one for one in tensors if one.place is not None and not _is_whole(one)), None)
    return Checkpoint(
        path,
        "lightning" if isinstance(value, dict) and "pytorch-lightning_version" in value else form,
        tensors,
        step=_number(value, _STEPS),
        epoch=_number(value, _EPOCHS),
        state=_state(value),
        foreign=other_names(pickled.globals),
        hostile=hostile_names(pickled.globals),
        damage=f"cut short at {lost.key}" if lost is not None else _missing_storage(tensors),
    )


def _is_whole(tensor: Tensor) -> bool:
    place = tensor.place
    return place is None or place.entry is not None or place.offset + place.bytes <= place.path.stat().st_size


def _missing_storage(tensors: tuple[Tensor, ...]) -> str | None:
    lost = [one.key for one in tensors if one.place is None and one.elements]
    return f"the numbers of {lost[0]} are missing" if lost else None


def _plain(value: Any) -> Any:
    """An OrderedDict or an object with attributes as the dict it is."""
    if isinstance(value, Call):
        if value.items:
            return value.items
        return value.state if isinstance(value.state, dict) else value
    return value


def _model_tensors(value: Any, places: Places) -> Iterator[Tensor]:
    """The tensors of the model: below a known name, else of the whole."""
    if isinstance(value, dict):
        for name in _MODELS:
            inner = _plain(value.get(name))
            if isinstance(inner, dict) and any(tensor_of("", one, places) for one in inner.values()):
                yield from _tensors(inner, places)
                return
    yield from _tensors(value, places)


def _tensors(value: Any, places: Places, prefix: str = "", depth: int = 0) -> Iterator[Tensor]:
    value = _plain(value)
    if not isinstance(value, dict) or depth > DEEPEST:
        return
    for key, one in value.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        tensor = tensor_of(name, one, places)
        if tensor is not None:
            yield tensor
        elif not (depth == 0 and any(key in names for names in STATE.values())):
            yield from _tensors(one, places, name, depth + 1)


def _number(value: Any, names: tuple[str, ...]) -> int | None:
    if not isinstance(value, dict):
        return None
    return next((int(value[name]) for name in names if isinstance(value.get(name), (int, float))), None)


def _state(value: Any) -> dict[str, bool] | None:
    """Which parts are there; None for bare weights, which nobody resumes from."""
    if not isinstance(value, dict) or not any(name in value for names in STATE.values() for name in names):
        return None
    return {part: any(value.get(name) not in (None, [], {}) for name in names) for part, names in STATE.items()}


def _parts_of(folder: Path) -> list[Path]:
    """The files with the model's tensors in a folder that a trainer has written."""
    index = next((folder / name for name in os.listdir(folder) if name.endswith(".index.json")), None)
    if index is not None:
        shards = dict.fromkeys(_index(index).values())
        return [folder / name for name in shards]
    names = ("model.safetensors", "pytorch_model.bin", "adapter_model.safetensors", "adapter_model.bin")
    named = [folder / name for name in names if (folder / name).is_file()]
    return named[:1] or sorted(path for path in folder.glob("mp_rank_*_model_states.pt"))


def _index(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
        return {str(key): os.path.basename(str(name)) for key, name in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UnreadableArtifact(f"{path.name}: expected an index with weight_map; found something else") from None


def _folder(path: Path) -> Checkpoint:
    parts = _parts_of(path)
    if not parts:
        raise UnreadableArtifact(f"{path.name}: expected a checkpoint; found a folder without model files; name a file")
    missing = [part.name for part in parts if not part.is_file()]
    read = [read_checkpoint(part) for part in parts if part.is_file()]
    first = read[0] if read else None
    trainer = path / "trainer_state.json"
    step = _json_number(trainer, "global_step") if trainer.is_file() else first.step if first else None
    damaged = next((one.damage for one in read if one.damage), None)
    state = {part: any((path / name).is_file() for name in names) for part, names in _FOLDER_STATE.items()}
    return Checkpoint(
        path,
        "hf-folder" if not parts[0].name.startswith("mp_rank") else "deepspeed",
        tuple(tensor for one in read for tensor in one.tensors),
        step=step,
        epoch=_json_number(trainer, "epoch") if trainer.is_file() else None,
        state=first.state if first and first.state else state,
        foreign=tuple(dict.fromkeys(name for one in read for name in one.foreign)),
        hostile=tuple(dict.fromkeys(name for one in read for name in one.hostile)),
        damage=f"missing: {', '.join(missing[:3])}" if missing else damaged,
    )


def _json_number(path: Path, key: str) -> int | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8")).get(key)
    except (OSError, ValueError, AttributeError):
        return None
    return int(found) if isinstance(found, (int, float)) else None
