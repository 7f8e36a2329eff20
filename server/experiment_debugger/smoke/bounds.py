"""How much memory a smoke test may take: most of what is free here, within the limit of the container."""

from __future__ import annotations

from pathlib import Path

SHARE = 0.8
LEAST = 512 << 20
CGROUP_FILES = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
VARIABLE = "EXPERIMENT_DEBUGGER_MEMORY_MB"


def memory_limit(operator: str | None = None) -> int:
    """Bytes for the whole process tree; `operator` is the value of VARIABLE, in MiB, where it is set."""
    import psutil

    if operator and operator.isdigit():
        return max(int(operator), 1) << 20
    free = [int(psutil.virtual_memory().available)]
    free += [room for limit, used in CGROUP_FILES if (room := _room(Path(limit), Path(used))) is not None]
    return max(LEAST, int(min(free) * SHARE))


def _room(limit: Path, used: Path) -> int | None:
    """Bytes left in this control group; None where it has no limit."""
    try:
        return int(limit.read_text(encoding="ascii")) - int(used.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
