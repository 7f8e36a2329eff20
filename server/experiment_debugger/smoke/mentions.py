"""What a command names: the settings and words of its arguments, environment, job script and configs.

python train.py --data data/cifar output_dir=/scratch/run42     Mention("data", "data/cifar", "the command")
jobs/42.sh: OUT=outputs/$SLURM_JOB_ID                           Mention("out", "outputs/$SLURM_JOB_ID", "jobs/42.sh")
configs/a.yaml: train: {data_path: data/train.bin}              Mention("train.data_path", "data/train.bin", ...)

Python code says less plainly what a path is for; of it only the text is kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiment_debugger import git
from experiment_debugger.errors import UnreadableArtifact
from experiment_debugger.readers.configs import read_config
from experiment_debugger.smoke.options import SETTING, spelled
from experiment_debugger.smoke.order import Command
from experiment_debugger.smoke.shell_text import SHELL, changes_of_folder, is_shell
from experiment_debugger.smoke.shell_words import logical_lines, words_and_operators

COMMAND = "the command"
ENVIRONMENT = "the environment"
LARGEST_TEXT = 1 << 20  # bytes of a script, config or module; more is data
MOST_TEXT = 16 << 20  # bytes of Python code, and of configs that are not named, that are searched
CONFIGS = (".yaml", ".yml", ".json")
MORE_CONFIGS = (".toml", ".ini", ".cfg", ".gin", ".env")
WRITES = (">", ">>", "&>", "&>>", ">|", "tee")
OUTPUT = re.compile(
    r"^o$|(?:^|[._])(?:out|outdir|savedir|logdir|rundir|expdir|workdir|save|save_to|dirpath|default_root_dir|logfile"
    r"|(?:output|outputs|out|save|saving|log|logs|logging|ckpt|ckpts|checkpoint|checkpoints|run|runs|exp|experiment|work"
    r"|result|results|tensorboard|tb|tb_log|serialization|dump|artifact|artifacts|wandb|snapshot)_(?:dir|folder|root)"
    r"|(?:output|out|save|log|result|results)_(?:path|file)|output|outputs|(?:run|sweep)\.dir)$"
)
_DATA = (
    "data|dataset|datasets|train|val|valid|validation|dev|test|eval|input|inputs|annotation|annotations|ann|image|images"
    "|img|label|labels|vocab|merges|tokenizer|corpus|manifest|split|splits|embedding|embeddings|prompt|prompts|weights"
    "|pretrained|resume|checkpoint|ckpt|init|model|config|restore|load|finetune|feature|features"
)
INPUT = re.compile(
    rf"(?:^|[._])(?:(?:{_DATA})(?:[._](?:data|dataset|dir|path|root|file|files|folder|from|prefix|model|checkpoint|ckpt"
    r"|weights|name_or_path))*|resume_\w+|init_\w+|model_name_or_path|cfg|deepspeed|ds_config)$"
)
_ASSIGNED = re.compile(r"""(?m)^\s*["']?([A-Za-z_][\w.]*)["']?\s*[:=]\s*["']([^"'\n]+)["']""")


@dataclass(frozen=True, slots=True)
class Mention:
    """A value and the setting that it belongs to ("" for a bare word): lower case, `-` as `_`, dotted in configs."""

    key: str
    value: str
    at: str

    @property
    def is_output(self) -> bool:
        """Whether the setting says where the program writes."""
        return bool(OUTPUT.search(self.key))

    @property
    def is_input(self) -> bool:
        """Whether the setting says what the program reads."""
        return bool(INPUT.search(self.key)) and not self.is_output


@dataclass(frozen=True, slots=True)
class Texts:
    """All that was read, by name: `files` of the command, `code` in Python, `others` that the code may read.

    `folders` are those in which the command may run: relative paths of a script that changes to `exp/` start there.
    """

    mentions: tuple[Mention, ...]
    files: dict[str, str]
    code: dict[str, str]
    others: dict[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ("",)

    def places(self, value: str) -> tuple[str, ...]:
        """What a path may stand for, seen from the root."""
        if "://" in value or value.startswith(("/", "~", "$")):
            return (value,)
        return tuple(os.path.normpath(os.path.join(folder, value)) for folder in self.folders)


def read_texts(command: Command, folder: Path) -> Texts:
    """What the command names, with its files and the tracked Python code read from `folder` (a checkout)."""
    mentions = [*word_mentions(command.argv, COMMAND)]
    mentions += [Mention(_key(name), value, ENVIRONMENT) for name, value in command.environment.items()]
    files = {name: text for name in command.files if (text := read_text(folder / name)) is not None}
    for name, text in files.items():
        mentions += file_mentions(folder / name, name, text)
    changes = (to for name, text in files.items() if is_shell(name, text) for to in changes_of_folder(text))
    folders = [to for to in changes if not os.path.isabs(to) and not set(to) & set("$`~*")]
    others = _texts_in(folder, *(f"*{suffix}" for suffix in (*CONFIGS, *SHELL, *MORE_CONFIGS)))
    return Texts(tuple(mentions), files, _texts_in(folder, "*.py"), others, ("", *dict.fromkeys(folders)))


def file_mentions(path: Path, name: str, text: str) -> Iterator[Mention]:
    """What one job script or config names."""
    if name.endswith(CONFIGS):
        yield from _config_mentions(path, name)
    elif is_shell(name, text):
        for _, line in logical_lines(text):
            yield from word_mentions(words_and_operators(line), name)
    else:
        yield from (Mention(_key(key), value, name) for key, value in _ASSIGNED.findall(text))


def word_mentions(words: Sequence[str], at: str) -> Iterator[Mention]:
    """`--key value`, `--key=value`, `key=value`, `KEY=value` and bare words."""
    for index, word in enumerate(words):
        before = words[index - 1] if index else ""
        setting = SETTING.fullmatch(word.lstrip("-"))
        if before in WRITES or (before == "-a" and "tee" in words[:index]):
            yield Mention("output", word, at)
        elif setting:
            yield Mention(_key(setting[1]), setting[2], at)
        elif not word.startswith("-"):
            yield Mention(_key(before) if before.startswith("-") and "=" not in before else "", word, at)


def read_text(path: Path) -> str | None:
    """A script, config or module as text; None when it is too large, binary or not there."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_TEXT:
            return None
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return None
    return None if "\0" in text else text


def _config_mentions(path: Path, name: str) -> Iterator[Mention]:
    try:
        settings = read_config(path)
    except UnreadableArtifact:
        return
    for key, value in settings.items():
        yield from (Mention(_key(key), text, name) for text in _strings(value))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)


def _key(text: str) -> str:
    return spelled(text.lstrip("-+~"))


def _texts_in(folder: Path, *patterns: str) -> dict[str, str]:
    """The files of these names below the folder, tracked or brought, until MOST_TEXT."""
    found, left = {}, MOST_TEXT
    for name in git.paths(folder, "ls-files", "-z", "--cached", "--others", "--", *patterns):
        text = read_text(folder / name)
        if text is not None and left > 0:
            found[name] = text
            left -= len(text)
    return found
