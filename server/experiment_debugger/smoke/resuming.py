"""`--resume CKPT`: the command told to start from a checkpoint, in the way that its program offers.

python train.py --resume old.pt       --resume CKPT               the value of an option that is there
python train.py --lr 1                --lr 1 --resume CKPT        an option that the program's source declares
python train.py optim.lr=1            ... ckpt_path=CKPT          a key of its config, where it takes overrides
bash jobs/42.sh                       ... --resume CKPT           only where the script passes "$@" on
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from experiment_debugger.errors import DebuggerError
from experiment_debugger.readers.configs import settings_of
from experiment_debugger.smoke.launchers import Read, program_of, source_of
from experiment_debugger.smoke.named_configs import CONFIGS, FOLDERS
from experiment_debugger.smoke.options import Option, named, spelled, with_value
from experiment_debugger.smoke.order import Command
from experiment_debugger.smoke.shell_words import script_words
from experiment_debugger.smoke.source_options import declared_options

KEYS = (
    "resume_from_checkpoint", "resume_from", "resume_path", "resume_ckpt", "resume_checkpoint", "resume", "ckpt_path",
    "load_from_checkpoint", "load_checkpoint", "load_ckpt", "load_from", "load_path", "restore_from", "restore_file",
    "restore", "load", "checkpoint_path", "checkpoint", "init_from",
)  # fmt: skip
"""Names under which programs take a checkpoint to go on from, the plainest first."""
_NO_PATH = re.compile(r"true|false|yes|no|auto|never|allow|must|resume|scratch|gpt2.*|\d+", re.IGNORECASE)
_PASSES_ON = re.compile(r"\$@|\$\{@\}|\$\*|\$\{@:")
_OVERRIDES = re.compile(r"hydra\.main|OmegaConf\.from_cli|hydra\.compose|\bfrom_dotlist\b")
_HYDRA_MAIN = re.compile(r"config_(path|name)\s*=\s*['\"]([^'\"]+)['\"]")


def appended_resume(command: Command, checkpoint: str, read: Read) -> Command:
    """The command that goes on from the checkpoint; raises `DebuggerError` where its program offers no way."""
    if command.is_script:
        words = _of_script(command, checkpoint, read)
        return replace(command, argv=(*command.argv, *words))
    source = source_of(command.argv, read) or ""
    for option in _present(command.argv):
        return replace(command, argv=with_value(command.argv, option, _value(command.argv, option, source, checkpoint)))
    words = _added(command.argv, source, command.files, checkpoint, read)
    if not words:
        raise _no_way(f"the {command.source} command")
    return replace(command, argv=(*command.argv, *words))


def _present(argv: Sequence[str]) -> list[Option]:
    """The options of the command that take a checkpoint, the plainest first."""
    taking = [one for one in named(argv, KEYS) if one.value is not None and not _NO_PATH.fullmatch(one.value)]
    return sorted(taking, key=lambda option: KEYS.index(option.key))


def _value(argv: Sequence[str], option: Option, source: str, checkpoint: str) -> str:
    """The checkpoint as this option takes it."""
    is_override = not argv[option.at].startswith("-") and _OVERRIDES.search(source)
    return _quoted(checkpoint) if is_override else checkpoint


def _added(argv: Sequence[str], source: str, files: Sequence[str], checkpoint: str, read: Read) -> tuple[str, ...]:
    """The words that name the checkpoint to a program that is not told of one yet; none where it offers no way."""
    declared = declared_options(source)
    for key in KEYS:
        if key in declared:
            return declared[key], checkpoint
    if not _OVERRIDES.search(source):
        return ()
    keys = [key for name in (*files, *_hydra_configs(argv, source)) for key in _config_keys(name, read)]
    if not keys:
        return ()
    return (f"{min(keys, key=lambda key: KEYS.index(spelled(key).rpartition('.')[2]))}={_quoted(checkpoint)}",)


def _of_script(command: Command, checkpoint: str, read: Read) -> tuple[str, ...]:
    """Arguments of a job script that reach its program."""
    text = read(command.argv[1]) or ""
    passing = [words for words in script_words(text) if any(_PASSES_ON.search(word) for word in words)]
    for words in passing:
        source = source_of(words, read) or ""
        for option in _present(words):
            name, value = words[option.at].partition("=")[0], _value(words, option, source, checkpoint)
            return (name, value) if name.startswith("-") else (f"{name}={value}",)
        if found := _added(words, source, command.files, checkpoint, read):
            return found
    if not passing:
        raise DebuggerError(
            f'--resume: expected a job script that passes its arguments on ("$@"); {command.argv[1]} does not; '
            "give the training command itself after --"
        )
    raise _no_way(command.argv[1])


def _no_way(where: str) -> DebuggerError:
    return DebuggerError(
        f"--resume: expected an option or a config key such as --{', --'.join(KEYS[:1] + KEYS[5:7])}; found none in "
        f"{where} or the source of its program; give the whole command, with the checkpoint, after --"
    )


def _config_keys(name: str, read: Read) -> Iterator[str]:
    """Keys of a config that take a checkpoint, as an override names them: a group's folder stands in front."""
    text = read(name) if name.endswith(CONFIGS) else None
    if text is None:
        return
    folder = next(
        (folder for folder in sorted(FOLDERS, key=len, reverse=True) if folder and name.startswith(f"{folder}/")), ""
    )
    groups = name.removeprefix(f"{folder}/").split("/")[:-1] if folder and "@package _global_" not in text else []
    for key, value in settings_of(text, name).items():
        if spelled(key).rpartition(".")[2] in KEYS and (value is None or isinstance(value, str)):
            yield ".".join([*groups, key])


def _hydra_configs(argv: Sequence[str], source: str) -> list[str]:
    """The config that `@hydra.main(config_path="conf", config_name="config")` names."""
    named_there = dict(_HYDRA_MAIN.findall(source))
    name = named_there.get("name", "config").removesuffix(".yaml")
    program = program_of(argv)
    folder = program.path.rpartition("/")[0] if program else ""
    return [os.path.normpath(os.path.join(folder, named_there.get("path", "conf"), f"{name}.yaml"))]


def _quoted(path: str) -> str:
    """As hydra's grammar wants it: `=` and other signs of its own only within quotes."""
    return path if re.fullmatch(r"[\w./-]+", path) else "'" + path.replace("\\", "\\\\").replace("'", "\\'") + "'"
