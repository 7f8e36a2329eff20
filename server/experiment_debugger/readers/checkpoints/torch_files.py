"""What torch.save writes, in both of its forms, without torch and without unpickling.

a.pt (zip)      archive/data.pkl, archive/data/0, archive/data/1, archive/version
a.pt (legacy)   magic number, protocol, system info, the object, storage keys (five pickles), then the raw storages
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.checkpoints.pickles import BrokenPickle, Call, Global, Persistent, Pickled, walk
from experiment_debugger.readers.checkpoints.tensors import SIZES, Place, Tensor

MAGIC = 0x1950A86A20F9469CFC6C
LARGEST_PICKLE = 512 << 20  # bytes of the object without its storages
_STORAGES = {
    "Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32",
    "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool", "ComplexFloat": "complex64",
    "Float8_e4m3fn": "float8_e4m3fn", "Float8_e5m2": "float8_e5m2",
}  # fmt: skip
Places = dict[str, Place]
UNTYPED = "Untyped"
"""A storage that is counted in bytes; the tensor says what they are."""


def read_torch(path: Path) -> tuple[Pickled, Places, str]:
    """(the object as plain data, its storages by key, torch-zip or torch-legacy); `UnreadableArtifact` otherwise."""
    if zipfile.is_zipfile(path):
        return (*_read_zip(path), "torch-zip")
    with path.open("rb") as stream:
        head = stream.read(4)
        stream.seek(0)
        if head[:2] == b"PK":
            raise UnreadableArtifact(
                f"{path.name}: expected a whole zip file; found one cut short; save or copy it again"
            )
        return (*_read_legacy(path, stream), "torch-legacy")


def _read_zip(path: Path) -> tuple[Pickled, Places]:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {info.filename: info for info in archive.infolist()}
            name = next((name for name in entries if name == "data.pkl" or name.endswith("/data.pkl")), None)
            if name is None:
                raise UnreadableArtifact(
                    f"{path.name}: expected what torch.save writes; found a zip file without data.pkl"
                )
            if entries[name].file_size > LARGEST_PICKLE:
                raise UnreadableArtifact(f"{path.name}: expected an object below 512 MB beside its tensors; found more")
            with archive.open(name) as stream:
                pickled = walk(stream)
            folder = name.removesuffix("data.pkl") + "data/"
            places = {
                entry.removeprefix(folder): Place(path, entry, 0, info.file_size)
                for entry, info in entries.items()
                if entry.startswith(folder)
            }
            return pickled, places
    except (zipfile.BadZipFile, BrokenPickle, NotImplementedError, EOFError, OSError) as problem:
        raise UnreadableArtifact(f"{path.name}: expected what torch.save writes; found: {str(problem)[:120]}") from None


def _read_legacy(path: Path, stream: IO[bytes]) -> tuple[Pickled, Places]:
    try:
        first = walk(stream)
        if first.value != MAGIC:  # a bare pickle
            return first, {}
        walk(stream)
        walk(stream)
        pickled, keys = walk(stream), walk(stream).value
        return pickled, _legacy_places(path, stream, pickled.value, keys if isinstance(keys, list) else [])
    except BrokenPickle as problem:
        raise UnreadableArtifact(f"{path.name}: expected a checkpoint; found: {problem}") from None


def _legacy_places(path: Path, stream: IO[bytes], value: Any, keys: list[Any]) -> Places:
    """Storages follow each other: the number of elements in eight bytes, then the elements."""
    kinds = {storage[2]: storage_dtype(storage[1]) for storage in _storages(value)}
    places: Places = {}
    for key in keys:
        count = int.from_bytes(stream.read(8), "little")
        size = count * SIZES.get(kinds.get(str(key), UNTYPED), 1)
        places[str(key)] = Place(path, None, stream.tell(), size)
        stream.seek(size, 1)
    return places


def _storages(value: Any, depth: int = 0) -> Iterator[tuple[Any, ...]]:
    if depth > 12:
        return
    if isinstance(value, Persistent):
        if isinstance(value.id, tuple) and len(value.id) >= 5 and value.id[0] == "storage":
            yield value.id
    elif isinstance(value, dict):
        for one in value.values():
            yield from _storages(one, depth + 1)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _storages(one, depth + 1)
    elif isinstance(value, Call):
        for one in (value.args, value.items, value.state):
            yield from _storages(one, depth + 1)


def storage_dtype(kind: Any) -> str:
    """The dtype of a storage class such as torch.FloatStorage."""
    name = kind.name.rpartition(".")[2] if isinstance(kind, Global) else str(kind)
    return _STORAGES.get(name.removesuffix("Storage"), name)


def tensor_of(key: str, value: Any, places: Places) -> Tensor | None:
    """The tensor that a value would be rebuilt into; None for anything else."""
    if not isinstance(value, Call):
        return None
    name = value.name
    if name.startswith("torch._utils._rebuild_parameter") and value.args:
        return tensor_of(key, value.args[0], places)
    if not name.startswith("torch._utils._rebuild_tensor") or len(value.args) < 3:
        return None
    storage, offset, shape = value.args[:3]
    if not isinstance(storage, Persistent) or not isinstance(shape, tuple):
        return None
    dtype = storage_dtype(storage.id[1])
    if dtype == UNTYPED or "v3" in name:
        dtype = next((one.name.rpartition(".")[2] for one in value.args if isinstance(one, Global)), dtype)
    found = Tensor(key, tuple(int(size) for size in shape), dtype)
    size = SIZES.get(dtype, 0)
    place = places.get(str(storage.id[2]))
    if place is None or not size:
        return found
    return Tensor(
        key, found.shape, dtype, Place(place.path, place.entry, place.offset + offset * size, found.elements * size)
    )
