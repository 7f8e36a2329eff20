"""One run whose evidence is numbers: how it is started and what a diagnosis of it must say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml
from case import local

# The neutral platform name stands in for the kernel of this machine, which trackers record.
SETUP = """mkdir -p {folder} $HOME/scratch $HOME/site
export TMPDIR=$HOME/scratch PYTHONPATH=$HOME/site COLUMNS=120 NOTES=/workspace/proj/notes.json
export TENSORBOARD_LOGGING_DIR=runs/{run} MPLCONFIGDIR=$HOME/mpl
echo 'import platform; platform.platform = lambda *a, **k: "Linux-6.1.0-x86_64-with-glibc2.36"' \\
    > $HOME/site/sitecustomize.py
"""
TRAIN = "python train.py --config configs/{run}.yaml"
Source = Literal["text", "tensorboard", "wandb", "csv", "jsonl", "hf"]


@dataclass(frozen=True)
class Run:
    """One project with one run. `driver` is bash in its root; `{run}`, `{job}` and `{log}` stand for names of the run.

    All of `rules` must fire, and one of `one_of` where there are any. `onset` says whether the run noted the step at
    which its failure begins, see `tracking.note`.
    """

    name: str
    program: str
    source: Source
    run: str
    config: Mapping[str, Any]
    note: str
    mode: str | None = None
    rules: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    onset: bool = False
    command: str = TRAIN
    driver: str = "bash {job} > {log} 2>&1"
    modules: tuple[str, ...] = ("tracking", "toy")
    exit_code: int = 0
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def log(self) -> str:
        return f"logs/{self.run}.log"

    def written(self) -> dict[str, str]:
        """The files of the project before it runs, programs aside."""
        config = {"run": self.run, "tracker": self.source, "seed": 0, "batch_size": 64, **self.config}
        return {
            f"configs/{self.run}.yaml": yaml.safe_dump(config, sort_keys=False),
            f"jobs/{self.run}.sh": local(self.command.format(run=self.run)),
            **self.files,
        }

    def script(self) -> str:
        names = {"run": self.run, "job": f"jobs/{self.run}.sh", "log": self.log}
        return SETUP.format(folder="logs", run=self.run) + self.driver.format(**names)
