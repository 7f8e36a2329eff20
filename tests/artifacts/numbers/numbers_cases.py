"""The table of runs whose evidence is numbers."""

from failing_cases import FAILING
from healthy_cases import HEALTHY
from run import Run

CASES: tuple[Run, ...] = FAILING + HEALTHY
