"""What GPUs did while the run ran: CSV of nvidia-smi and rocm-smi, tables of `nvidia-smi dmon` and `pmon`.

    timestamp, index, utilization.gpu [%], memory.used [MiB]      # gpu    pwr  gtemp  mtemp     sm    mem
    2022/07/27 19:02:30.492, 0, 99 %, 5117 MiB                    # Idx      W      C      C      %      %
                                                                      0    237     64      -     98     54
    device,Temperature (Sensor edge) (C),GPU use (%)
    card0,45.0,12

A series is one column of one GPU (`rank` is its index), under the header's own words with their unit. Stamps are read
as if they were UTC: only differences mean something. Cells `-`, `[N/A]` and `Not Active` are no numbers.
"""

from __future__ import annotations

import csv
import math
import re
from collections import defaultdict
from typing import IO

from experiment_debugger.readers.blocks import Blocks
from experiment_debugger.readers.lines import to_text
from experiment_debugger.readers.series import Recorded, Series
from experiment_debugger.readers.timestamps import Clock

MOST_COLUMNS = 200
MOST_GPUS = 1024
MOST_SERIES = 5000
LONGEST_LINE = 20_000  # characters
_NUMBER = re.compile(r"\s*(-?\d+(?:\.\d+)?)(?:\s*(?:%|[A-Za-z/]+))?\s*$")
_INDEX = re.compile(r"(?:card|gpu)?\s*(\d{1,4})$", re.IGNORECASE)
_DAY = re.compile(r"(\d{4})-?/?(\d{2})-?/?(\d{2})$")
_POSITIONS = frozenset({"index", "gpu", "device", "pci.bus_id", "gpu_bus_id", "uuid", "gpu_uuid", "name", "gpu_name"})
_NOT_MEASURED = frozenset({"pid", "type", "command", "count", "timestamp", "Date", "Time", *_POSITIONS})
_OF_THE_MEMORY = ("mem", ".memory")
"""Utilisation, clock or temperature of the memory, not how much of it is used."""
_HEAD = re.compile(
    rb"\A\s*(?:# ?gpu\b|# ?Date |# ?Time |device,\S"
    rb"|[^\n]{0,2000}(?:utilization\.|memory\.used|temperature\.gpu|power\.draw|clocks\.))"
)
_BARE_CSV = re.compile(rb"\A\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}, ")


def is_gpu_table(head: bytes) -> bool:
    """Whether the first bytes are rows of samples; the boxes of plain `nvidia-smi` are not."""
    return bool(_HEAD.search(head) or _BARE_CSV.search(head))


def read_gpu_log(stream: IO[bytes]) -> Recorded:
    """The series of each GPU; lines that are no rows are counted."""
    recorded = Recorded()
    rows = _Rows(recorded)
    for first, lines in Blocks(stream, recorded):
        for number, raw in enumerate(lines, first):
            text = to_text(raw[:LONGEST_LINE]).strip()
            if text:
                rows.take(number, text)
    if rows.odd:
        recorded.problems.append(f"{rows.odd} lines are no samples of a GPU")
    return recorded


class _Rows:
    """Rows below the header that was seen last."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._names: list[str] = []
        self._units: list[str] = []
        self._is_csv = False
        self._clock = Clock()
        self._gpus: dict[str, int] = {}
        self._samples: dict[int, int] = defaultdict(int)
        self.odd = 0

    def take(self, number: int, text: str) -> None:
        """One line that is not blank."""
        if text.startswith("#"):
            self._take_header(text.lstrip("# "))
            return
        cells = self._cells(text)
        if not self._names:
            self._is_csv = "," in text
            cells = self._cells(text)
            if self._is_csv and not _is_sample(cells):
                self._names = cells
                return
            self._names = [f"column {place}" for place in range(1, len(cells) + 1)]
            self._recorded.problems.append("no header, columns are named by their place")
        if cells == self._names:  # the program was started again
            return
        if len(cells) < len(self._names) or not _is_sample(cells):
            self.odd += 1
            return
        self._take_sample(number, text, cells)

    def _take_header(self, text: str) -> None:
        """`# gpu pwr` names columns, `# Idx W` below it their units; both come again every few screens."""
        words = [word.strip() for word in text.split(",")] if "," in text else text.split()
        if words[:1] in (["Idx"], ["YYYYMMDD"], ["HH:MM:SS"]):
            return
        self._names, self._is_csv = words[:MOST_COLUMNS], "," in text

    def _cells(self, text: str) -> list[str]:
        if not self._is_csv:
            return text.split()
        try:
            cells = next(csv.reader([text], skipinitialspace=True), [])
        except csv.Error:
            return []
        return [cell.strip() for cell in cells][:MOST_COLUMNS]

    def _take_sample(self, number: int, text: str, cells: list[str]) -> None:
        row = dict(zip(self._names, cells, strict=False))
        gpu, time = self._gpu(row), self._time(row, text)
        self._samples[gpu] += 1
        for key, cell in row.items():
            found = _NUMBER.match(cell) if key.split(" [")[0] not in _NOT_MEASURED else None
            if found and len(self._recorded.series) < MOST_SERIES:
                series = self._series(self._key(key, row), gpu)
                series.add(self._samples[gpu], float(found.group(1)), time, number)

    def _series(self, key: str, gpu: int) -> Series:
        series = self._recorded.of(key, rank=gpu, evaluation=False, axis="record")
        base = key.split(" [", maxsplit=1)[0].rsplit(" ", 1)[-1]
        if base == "fb" and not series.values:
            series.role = "memory"  # frame buffer, MB
        elif base.endswith(_OF_THE_MEMORY):
            series.role = None
        return series

    @staticmethod
    def _key(key: str, row: dict[str, str]) -> str:
        """The samples of `pmon` are those of one process: `sm` of the process, not of the GPU."""
        return f"pid {row['pid']} {key}" if row.get("pid", "-").isdigit() else key

    def _gpu(self, row: dict[str, str]) -> int:
        """The index of the GPU, where it is not written: in order of first sight of its bus id or uuid; else 0."""
        for key in ("index", "gpu", "device"):
            found = _INDEX.match(row.get(key, ""))
            if found:
                return int(found.group(1))
        named = next((row[key] for key in ("pci.bus_id", "gpu_bus_id", "uuid", "gpu_uuid") if key in row), None)
        if named is None or (named not in self._gpus and len(self._gpus) >= MOST_GPUS):
            return 0
        return self._gpus.setdefault(named, len(self._gpus))

    def _time(self, row: dict[str, str], text: str) -> float:
        day = _DAY.match(row.get("Date", ""))
        stamp = f"{day[1]}-{day[2]}-{day[3]} {row.get('Time', '')}" if day else row.get("timestamp", text)
        time = self._clock.read(stamp)
        return math.nan if time is None else time


def _is_sample(cells: list[str]) -> bool:
    """Whether any cell is a number, or the whole row is dashes (`pmon` of an idle GPU)."""
    return any(_NUMBER.match(cell) or cell == "-" or _DAY.match(cell) for cell in cells)
