"""What file and folder names say: which run they carry, which rank wrote them.

logs/run-118-blocking.log     run 118
slurm/knet-city-9411285.err   run knet-city-9411285, also 9411285
lightning_logs/version_7/     run version_7, also 7
runs/cora-seed42-1/           never run 42: a seed is no run
attempt_0/3/stderr.log        rank 3
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache


def words(text: str) -> frozenset[str]:
    """A set of words from a text."""
    return frozenset(text.split())


CONTAINERS = words(
    "logs log runs run output outputs work dirs dir lightning ray results result nemo experiments experiment exps "
    "exp train training nnunet tb tensorboard tensorboards checkpoints checkpoint ckpt ckpts models model saved "
    "wandb slurm jobs job artifacts multirun hydra mlruns mlflow csv history sweeps sweep summaries pbs sge lsf "
    "tfevents records"
)
"""Words of folders that hold runs and are no run themselves."""
PREFERRED = (
    "logs", "wandb", "runs", "output", "outputs", "lightning_logs", "results", "experiments", "checkpoints",
)  # fmt: skip
NOT_RUNS = words(
    "docs doc configs config conf cfg cfgs memory src lib scripts script tools tool tests test env envs docker "
    "references notebooks examples assets third party vendor ds data"
)
"""First folders that never hold runs."""
RUN_WORDS = words(
    "run runs slurm job jobs exp experiment experiments expt version ver v trial try train training log logs "
    "wandb id no nr offline pbs sge lsf k8s pod"
)
"""Words in front of a number that make it a run id."""
PARTS = words(
    "rank localrank globalrank local global step steps epoch epochs iter iters iteration gpu gpus cuda device node "
    "nodes worker workers checkpoint ckpt part shard attempt restart retry requeue resume proc process host"
)
"""Words in front of a number that make it a part of a run: a rank, a step, a try."""
NUMBERED_PARTS = PARTS | words(
    "seed fold split lr bs batch batchsize layer layers dim d e k top temp beta gamma wd warmup hidden depth width num "
    "n size len length ctx bf fp int"
)
"""Words in front of a number that make it something else than a run id."""
ROLE_WORDS = words(
    "driver stdout stderr out err output console train training log logs launcher main nohup eval test val valid "
    "validation error errors info debug progress metrics metric history results result all full txt job batch "
    "hydra mpi server status summary config params hparams args index readme notes stats compare dmesg sacct seff "
    "scontrol squeue smi dmon pmon gpu mem pyspy py spy dump epilog events screenlog screen scalars report step "
    "times requirements environment env lock freeze"
)
"""Words that say what a file is, not whose it is."""
ATTEMPT_WORDS = words(
    "attempt restart restarted retry requeue requeued resume resumed rerun again continued cont try redo"
)

_SEPARATORS = re.compile(r"[\s_.,=+@#~:()\[\]-]+")
_EXTENSION = re.compile(
    r"(?i)\.(?:log|out|err|txt|csv|tsv|jsonl?|ya?ml|toml|ini|cfg|md|sh|sbatch|slurm|pbs|py|ipynb|html?|gz|xz|zst|bz2"
    r"|wandb|pt|pth|ckpt|safetensors|h5|keras|bin|\d{1,3})$"
)
_DATE = re.compile(r"(?<!\d)(?:19|20)\d\d-?\d\d-?\d\d(?!\d)(?:[t-]\d\d-?\d\d-?\d\d(?!\d))?")
_RANKS = (
    re.compile(r"global-?rank-?(\d+)(?!\d)"),
    re.compile(r"(?<!local)(?<!local-)(?<!mp-)(?<!dp-)(?<!pp-)(?<!tp-)rank-?(\d+)(?!\d)"),
)


@lru_cache(maxsize=65536)
def normal(name: str) -> str:
    """Lower case, all separators as `-`; decimals stay one token (`lr0.1` is `lr0p1`)."""
    return _SEPARATORS.sub("-", re.sub(r"(?<=\d)\.(?=\d)", "p", name.lower())).strip("-")


@lru_cache(maxsize=65536)
def stem(name: str) -> str:
    """The name without the extensions that artifacts have, `.1` rotations and compression included."""
    name = re.sub(r"\.[oe](\d+)$", r"-\1", name)  # PBS and SGE: <job>.o<id>
    name = re.sub(r"(\.(?:log|out|err|txt))\.(?:19|20)\d\d[\d_\-T]{4,}$", r"\1", name)  # train.log.2017-10-23_11-02-10
    shorter = _EXTENSION.sub("", name)
    while shorter and shorter != name:
        name, shorter = shorter, _EXTENSION.sub("", shorter)
    return name


def tokens(name: str) -> tuple[str, ...]:
    """The tokens of a normalised name."""
    return tuple(token for token in normal(name).split("-") if token)


@lru_cache(maxsize=4096)
def is_artifact_folder(name: str) -> bool:
    """Whether a folder name says that runs stand in it: `logs`, `lightning_logs`, `nnUNet_results`, `checkpoints`."""
    words = tokens(name)
    return bool(words) and words[-1] in CONTAINERS and all(not word.isdigit() for word in words)


@lru_cache(maxsize=65536)
def label(name: str) -> tuple[str, ...]:
    """The tokens of a stem or folder name that say whose it is: generic words at both ends and ranks dropped.

    Empty for `train.log` or `rank_3.log`; ("118", "blocking") for `run-118-blocking.log`.
    """
    words = list(tokens(_without_ranks(name)))
    while words and words[-1] in ROLE_WORDS:
        words.pop()
    while words and (words[0] in RUN_WORDS | CONTAINERS or words[0] in ROLE_WORDS):
        words.pop(0)
    if words and words[0] in PARTS and all(word.isdigit() for word in words[1:]):
        return ()
    glued = re.fullmatch(r"([a-z]+)(\d+)", words[0]) if words else None
    if glued and len(words) == 1 and glued[1] in RUN_WORDS | PARTS:
        return (glued[2],) if glued[1] in RUN_WORDS else ()
    return tuple(words)


def _without_ranks(name: str) -> str:
    return re.sub(r"(?i)(?:(?:global|local)?[_-]?rank|node|host|gpu)[_-]?\d+(?:[_-]\d+)?(?![\da-z])", "", name)


def rank_of(parts: tuple[str, ...]) -> int | None:
    """The global rank in a path, from the file name outwards; a node number is no rank."""
    for part in reversed(parts):
        for pattern in _RANKS:
            found = pattern.search(normal(part))
            if found:
                return int(found[1])
    # torchrun writes <log_dir>/attempt_<n>/<rank>/stderr.log
    if len(parts) >= 3 and re.fullmatch(r"attempt_\d+", parts[-3]) and parts[-2].isdigit():
        return int(parts[-2])
    return None


@dataclass(frozen=True)
class RunId:
    """What the user typed, as a pattern on token boundaries: `42` is in `run-42` and `exp42`, never in `run-421`."""

    text: str

    @property
    def tokens(self) -> tuple[str, ...]:
        """Tokens of what was typed."""
        return tokens(self.text.replace("/", "-"))

    @cached_property
    def is_number(self) -> bool:
        """Whether only digits were typed."""
        return self.text.strip().isdigit()

    @cached_property
    def _exact(self) -> re.Pattern[str]:
        return self._pattern(re.escape)

    @cached_property
    def _loose(self) -> re.Pattern[str]:
        return self._pattern(_any_zeros)

    def _pattern(self, spell: Callable[[str], str]) -> re.Pattern[str]:
        parts = ["-+".join(spell(token) for token in tokens(part)) for part in self.text.split("/") if tokens(part)]
        body = "/".join(parts)
        first = next((char for char in normal(self.text.lstrip("/")) if char.isalnum()), "a")
        # a letter may stand before a leading digit (`exp42`); whether its word allows that is `_is_run_number`'s matter
        left = r"(?<![0-9])(?<!\dp)(?<!\de-)" if first.isdigit() else r"(?<![a-z0-9])"
        return re.compile(f"{left}(?:{body})(?![a-z0-9])" if body else r"(?!)")

    def find(self, name: str, *, loose: bool = False) -> re.Match[str] | None:
        """The match in one folder name or file stem (in several joined by `/`, for ids with `/`), or None."""
        text = "/".join(normal(part) for part in name.split("/"))
        for found in (self._loose if loose else self._exact).finditer(text):
            if self._is_own(text, found):
                return found
        return None

    def _is_own(self, text: str, found: re.Match[str]) -> bool:
        glued = re.search(r"([a-z]+)$", text[: found.start()])
        if glued and glued[1] not in RUN_WORDS and not (len(glued[1]) == 1 and glued[1] not in NUMBERED_PARTS):
            return False
        if not self.is_number:
            return True
        before = re.search(r"([a-z]+)-?$", text[: found.start()])
        if before and before[1] in NUMBERED_PARTS:
            return False
        if len(self.text) <= 4 and any(
            date.start() <= found.start() and found.end() <= date.end() for date in _DATE.finditer(text)
        ):
            return False
        later = re.search(r"(?:^|-)([a-z]+)-?\d", text[found.end() :])
        return not (later and later[1] in RUN_WORDS)


def _any_zeros(token: str) -> str:
    """A token with its numbers matching any count of leading zeros."""
    return "".join(
        f"0*{part.lstrip('0') or '0'}" if part.isdigit() else re.escape(part) for part in re.split(r"(\d+)", token)
    )
