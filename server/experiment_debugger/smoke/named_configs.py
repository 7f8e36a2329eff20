"""Configs that a command names, as paths relative to the project.

python train.py --config configs/a.yaml --deepspeed ds/z3.json      configs/a.yaml, ds/z3.json
python train.py --config-name big model=small                       conf/big.yaml, conf/model/small.yaml
bash jobs/42.sh                                                     those that the script's commands name
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from experiment_debugger.discovery.names import words
from experiment_debugger.smoke.options import options_of
from experiment_debugger.smoke.order import Command
from experiment_debugger.smoke.shell_words import script_words

CONFIGS = (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg", ".gin", ".jsonnet")
FOLDERS = ("", "configs", "conf", "config", "src/conf", "src/configs")
"""Where hydra's --config-name and people's short names are looked for."""
_NAME = words("config_name cn config cfg config_file")
_PATH = words("config_path cp config_dir cd")
_MOST = 200


def configs_named(command: Command, root: str) -> Iterator[str]:
    """The files that the words of the command, or of its job script, name and that are there."""
    lines = [command.argv, *(words for name in command.files for words in script_words(_text(root, name)))]
    for line in lines[:_MOST]:
        for name in _names(line):
            if not os.path.isabs(name) and not name.startswith("..") and os.path.isfile(os.path.join(root, name)):
                yield name


def _names(line: Sequence[str]) -> Iterator[str]:
    """Every path that could be meant, plain ones first."""
    options = list(options_of(line))
    folders = [one.value.strip("'\"") for one in options if one.key in _PATH and one.value]
    settings = {one.at: one for one in options if one.joined}
    for index, word in enumerate(line):
        value = (settings[index].value if index in settings else word) or ""
        if value.endswith(CONFIGS) or (value.endswith(".py") and "config" in value):
            yield os.path.normpath(value)
    for option in options:
        if option.value and option.key in _NAME:
            yield from _spelled(option.value, [*folders, *FOLDERS])
        elif option.joined and option.value and not line[option.at].startswith("-"):
            group = line[option.at].partition("=")[0].lstrip("+~").partition("@")[0].replace(".", "/")
            yield from _spelled(f"{group}/{option.value}", [*folders, *FOLDERS[1:]])


def _spelled(name: str, folders: Sequence[str]) -> Iterator[str]:
    plain = name.removesuffix(".yaml")
    yield from (os.path.normpath(os.path.join(folder, f"{plain}.yaml")) for folder in folders)


def _text(root: str, name: str) -> str:
    try:
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as stream:
            return stream.read(1 << 20)
    except OSError:
        return ""
