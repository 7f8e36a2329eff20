"""Whether a path of the project is named anywhere: by the command, its files, or a literal of its Python code.

data            --data data/cifar    "data"    f"{root}/data/x.bin"    never data2/x or my-data
sets/cifar      sets    sets/ci*     (a folder above it, or a pattern in one)
src/helper.py   import helper
src/_C.so       always: nobody names a compiled module by its file
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from experiment_debugger.smoke.mentions import Texts

LIBRARIES = (".so", ".pyd", ".dylib")
_IMPORT = re.compile(r"(?m)^\s*(?:from|import)\s+([^#\n]+)")
_LITERAL = re.compile(r"""(["'])((?:(?!\1)[^\\\n]){1,300})\1""")
_BESIDE = re.compile(r"(?m)(?<![\w./-])\.\./([^\s/\"'.$*{][^\s/\"'$*{]*)")
_WHOLE = r"(?![\w-]|\.\w)"
_FOLDER_OR_PATTERN = r"/?(?:(?![\w./-])|/[^\s\"']*[*{$%?])"


class Named:
    """What the texts name; `literals` are the strings of the Python code, `beside` names behind `../`."""

    def __init__(self, root: Path, texts: Texts) -> None:
        code = [_relative(root, text) for text in texts.code.values()]
        self.literals = {found[2] for text in code for found in _LITERAL.finditer(text)}
        self.beside = sorted({name for text in (*self.literals, *_values(texts)) for name in _BESIDE.findall(text)})
        self._words = "\n".join(sorted(self.literals | {_relative(root, value) for value in _values(texts)}))
        self._files = "\n".join(_relative(root, text) for text in texts.files.values())
        imports = (found[1] for text in code for found in _IMPORT.finditer(text))
        self._known: dict[tuple[str, str], bool] = {}
        self._imported = {word for line in imports for word in re.findall(r"\w+", line)}

    def names(self, path: str) -> bool:
        """Whether the path, relative to the root, is named."""
        stem, suffix = os.path.splitext(os.path.basename(path))
        if suffix in LIBRARIES or (suffix == ".py" and stem in self._imported):
            return True
        above = ["/".join(path.split("/")[:count]) for count in range(1, path.count("/") + 1)]
        return self._holds(path, _WHOLE) or any(self._holds(folder, _FOLDER_OR_PATTERN) for folder in above)

    def _holds(self, path: str, end: str) -> bool:
        if (path, end) not in self._known:  # thousands of files lie below one folder
            self._known[path, end] = self._finds(path, end)
        return self._known[path, end]

    def _finds(self, path: str, end: str) -> bool:
        """The plain search comes first: it is a hundred times faster, and most files of a project are named nowhere."""
        escaped = re.escape(path)
        word = path in self._words and re.search(rf"(?m)(?:^|/){escaped}(?=$|[/{{]){end}", self._words)
        return bool(word or (path in self._files and re.search(rf"(?<![\w.-]){escaped}{end}", self._files)))


def _values(texts: Texts) -> Iterator[str]:
    """Values, and the paths of values that list several."""
    for mention in texts.mentions:
        for value in texts.places(mention.value):
            yield value
            yield from (part for part in re.split(r"[,:;=\[\]]", value) if part != value)


def _relative(root: Path, text: str) -> str:
    for base in dict.fromkeys((str(root), os.path.realpath(root))):
        text = text.replace(base + "/", "")
    return text
