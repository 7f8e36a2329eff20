"""Render the coverage matrix and the rule and cause tables into the generated block of a reference file.

    python -m experiment_debugger.report.tables references/coverage.md

Only the text between the two markers is replaced; the prose around it is written by hand.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from experiment_debugger.errors import DebuggerError
from experiment_debugger.rules.base import Cause, RuleInfo, Signature
from experiment_debugger.rules.rulebook import RULES_DIR, Rulebook, load_file, load_rulebook

BEGIN = "<!-- generated:begin -->"
END = "<!-- generated:end -->"
NO_MODE = "context"
FAMILIES = (
    "gpu-memory", "gpu-device", "gpu-hardware", "distributed-collectives", "distributed-launch", "scheduler",
    "host-memory", "storage", "network", "endings", "environment", "python-tensors", "config", "data-loading",
    "checkpoints", "export", "numeric", "slow", "metric", "repro", "silent",
)  # fmt: skip
"""The groups of signature files, as rows; a file of no group gets a row of its own."""


class Platform(NamedTuple):
    """A column of the matrix: how the rules of a framework are told by the start of their id or by a reference."""

    name: str
    ids: str
    urls: str


PLATFORMS = (
    Platform(
        "PyTorch",
        r"torch-|autograd|ddp|fsdp|dynamo|dataloader",
        r"github\.com/pytorch/(?:pytorch|vision|torchtitan|gloo)/|pytorch\.org",
    ),
    Platform("torchrun", r"torchrun|rendezvous", r"torch/distributed/(?:elastic|run|launch|rendezvous)|/elastic/"),
    Platform("Lightning", r"lightning", r"/lightning-ai/"),
    Platform(
        "HF",
        r"hf-|hub|accelerate|trl|peft|tokenizers|safetensors",
        r"github\.com/huggingface/(?!pytorch-image-models)|huggingface\.co",
    ),
    Platform("DeepSpeed", r"deepspeed", r"/(?:deepspeedai|microsoft)/deepspeed"),
    Platform("Megatron/NeMo", r"megatron|nemo", r"megatron|/nemo"),
    Platform("fairseq", r"fairseq", r"/fairseq/"),
    Platform("mmengine/detectron2", r"mm[a-z]*-|detectron", r"/open-mmlab/|/detectron2/|/fvcore/"),
    Platform("ultralytics", r"ultralytics|yolo", r"ultralytics"),
    Platform("timm", r"timm", r"/pytorch-image-models/"),
    Platform("JAX/Flax/TPU", r"jax|flax|tpu|xla", r"/jax-ml/|/google/flax/|docs\.jax\.dev|/pytorch/xla/"),
    Platform("TF/Keras", r"tf-|tensorflow|keras", r"github\.com/tensorflow/|/keras-team/|www\.tensorflow\.org"),
    Platform("Ray/RLlib/verl", r"ray-|rllib|verl", r"/ray-project/|docs\.ray\.io|/verl/"),
    Platform("Horovod/MPI", r"horovod|mpi-", r"/horovod/|/open-mpi/"),
    Platform("NCCL", r"nccl", r"/nccl|ProcessGroupNCCL|NCCLUtils"),
    Platform(
        "CUDA/driver",
        r"cuda|cudnn|cublas|cufft|xid|nvidia|nvml|nvswitch",
        r"c10/cuda/|aten/src/aten/(?:native/)?cud|torch/cuda/|docs\.nvidia\.com|/open-gpu-kernel-modules/",
    ),
    Platform("ROCm", r"amd|hip-|rocm", r"/rocm/|docs\.amd\.com"),
    Platform("SLURM", r"slurm|srun", r"/slurm/"),
    Platform(
        "K8s/Docker",
        r"k8s|docker|container",
        r"/kubernetes/|/k3s|/kubeflow/|docs\.docker\.com|k8s-device-plugin|nvidia-container|gpu-operator",
    ),
    Platform(
        "trackers",
        r"wandb|mlflow|tensorboard|tracker|clearml|neptune",
        r"wandb|/mlflow/|tensorboard|/clearml/|/neptune",
    ),
    Platform(
        "OS/files",
        r"kernel|shell|file|df-|lustre|sqlite",
        r"/torvalds/|man7\.org|/python/cpython/|docs\.python\.org|/bminor/|www\.gnu\.org|lustre|/libfuse/|sqlite",
    ),
)


def render(book: Rulebook) -> str:
    """The block: the matrix, then per mode its causes and its rules; `explain ID` has the rest."""
    rules = [info for rule in book.rule_ids() if (info := book.info(rule)) is not None]
    parts = matrix(book)
    for mode in (*book.modes, NO_MODE):
        causes = sorted((cause for cause in book.causes.values() if cause.mode == mode), key=lambda cause: cause.id)
        parts += _section(mode, causes, [info for info in rules if (info.mode or NO_MODE) == mode])
    return "\n".join(parts)


def matrix(book: Rulebook) -> list[str]:
    """How many signatures of a family belong to each framework: by reference or by the start of the id."""
    rows: dict[str, list[Signature]] = {name: [] for name in FAMILIES}
    for rule in book.signatures.values():
        rows.setdefault(families().get(rule.id, "own"), []).append(rule)
    heads = ["family", *(platform.name for platform in PLATFORMS), "none of these", "rules"]
    counted = [_row(name, rules) for name, rules in [*rows.items(), ("all", [*book.signatures.values()])] if rules]
    return ["### Families x frameworks", "", _line(heads), _line(["---"] * len(heads)), *counted, ""]


@lru_cache(maxsize=1)
def families() -> dict[str, str]:
    """The family of each packaged signature: the group of the file it stands in."""
    return {
        rule.id: next((name for name in FAMILIES if path.stem == name or path.stem.startswith(f"{name}-")), path.stem)
        for path in sorted((RULES_DIR / "signatures").rglob("*.yaml"))
        for rule in load_file(path, Signature)
    }


def belongs(rule: RuleInfo, platform: Platform) -> bool:
    """Whether id or a reference of the rule names the framework."""
    return bool(
        re.match(platform.ids, rule.id) or any(re.search(platform.urls, url, re.IGNORECASE) for url in rule.references)
    )


def rendered(text: str, book: Rulebook) -> str:
    """The text of a reference file with its block rendered again."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise DebuggerError(f"Expected the markers {BEGIN} and {END}, found not both; add them.")
    return f"{head}{BEGIN}\n{render(book)}\n{END}{tail}"


def main() -> int:
    """Render the files that are named."""
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(rendered(path.read_text(encoding="utf-8"), load_rulebook()), encoding="utf-8", newline="\n")
    return 0


def _section(mode: str, causes: list[Cause], rules: list[RuleInfo]) -> list[str]:
    lines = [f"### {mode}", ""]
    if causes:
        lines += ["| cause | what it is |", "|---|---|"]
        lines += [f"| `{cause.id}` | {_cell(cause.text)} |" for cause in causes]
        lines.append("")
    if rules:
        lines += ["| rule | what it sees |", "|---|---|"]
        lines += [f"| `{rule.id}` | {_cell(rule.title)} |" for rule in rules]
        lines.append("")
    return lines if causes or rules else []


def _row(name: str, rules: list[Signature]) -> str:
    known = [[belongs(rule, platform) for platform in PLATFORMS] for rule in rules]
    counts = [*map(sum, zip(*known, strict=True)), sum(not any(hits) for hits in known)]
    return _line([name, *(str(count or "-") for count in counts), str(len(rules))])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    sys.exit(main())
