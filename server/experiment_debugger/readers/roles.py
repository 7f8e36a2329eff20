"""What a metric measures, told by its name: the role that detectors ask for; the original key is kept next to it.

train/loss_step -> loss      eval/loss, loss/val -> eval-loss       Loss/D -> loss    lr-AdamW/pg1 -> learning-rate
gnorm -> grad-norm           samples/s -> throughput                data_time -> data-time
gpu.0.memoryAllocatedBytes -> memory     utilization.gpu -> gpu-utilisation               val_acc -> metric
"""

from __future__ import annotations

import re
from functools import lru_cache

ROLES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("loss-scale", re.compile(r"loss[_ ]?scale|scaler|^scale$", re.IGNORECASE)),
    (
        "eval-loss",
        re.compile(r"^(?:\w+[/_ ])?(?:val|valid|validation|eval|test|dev)(?:id|uation)?[/_ .]?\w*loss|^v_?loss|^loss[_/.](?:val|valid|validation|eval|test|dev)\b", re.IGNORECASE),
    ),
    ("grad-norm", re.compile(r"grad[_ ]?norm|^gnorm|gradient[_ ]?norm|total_norm", re.IGNORECASE)),
    ("learning-rate", re.compile(r"^(?:base_)?lr(?:[-_/].*)?$|learning[_ ]?rate|[/.](?:lr|pg\d)(?:[-_/].*)?$", re.IGNORECASE)),
    ("data-time", re.compile(r"^data(?:[_ ]?(?:time|wait|t))?(?:_m?s)?$|^collate(?:$|[+_/ ])|data_?(?:load(?:ing)?_?)?time|(?:^|[_/.])t?_?wait_?batch|(?:load(?:er)?|batch|data)_(?:wait|load)(?:_|$)|^(?:time|perf)/data", re.IGNORECASE)),
    ("step-time", re.compile(r"^(?:batch_?time|step_?time|time(?:_ms)?|dt(?:_ms)?|(?:m?s|sec)/(?:it|iter|step))$|^t_(?:total|step|iter|batch)(?:_m?s)?$|(?:step|iter(?:ation)?|batch)_?time(?:_?m?s)?$|(?:time|s|sec|seconds)_per_(?:step|iter\w*|batch)$|elapsed time per iteration", re.IGNORECASE)),
    (
        "throughput",
        re.compile(r"(?:samples?|tokens?|tok|images?|imgs?|its?|iterations?|steps?|examples|seqs|frames|words|updates)(?:/|_?per_?)(?:s|sec|second)(?:/\w+)?$|throughput|(?:^|/)(?:fps|sps|tps|tgs|wps|ups)$", re.IGNORECASE),
    ),
    (
        "loss",
        re.compile(r"loss(?:es)?(?:[_/].*)?$|^loss_?value$|^(?:nll|kl|ce|bce|mse|recon|elbo|ppl|perplexity|objective)$|cross[ _]?entropy$|cost$|(?:^|[-_/])(?:rmse|mape|mae|l[12]|m?logloss)$|^train/(?:kl|recon|nll|ce)", re.IGNORECASE),
    ),
    ("host-memory", re.compile(r"(?:^|[._/])(?:vms|rss|ram|host_?mem\w*|cpu_?mem\w*|proc\.memory\S*|^system\.memory(?:_percent)?)(?:_?(?:[kmg]i?b|bytes|percent))?$", re.IGNORECASE)),
    ("gpu-utilisation", re.compile(r"utilization\.gpu|gpu(?:\.\d+)?\.gpu$|gpu[_ .]?util|^sm(?:%|$)", re.IGNORECASE)),
    ("gpu-temperature", re.compile(r"temperature\.gpu|gpu\.\d+\.temp$|^gtemp$|gpu[_ .]?temp", re.IGNORECASE)),
    ("gpu-clock", re.compile(r"clocks?\.(?:current\.)?(?:sm|gr|graphics)|^pclk$|sm_?clock", re.IGNORECASE)),
    ("gpu-power", re.compile(r"power\.draw|gpu\.\d+\.powerWatts$|^pwr$", re.IGNORECASE)),
    ("cpu-utilisation", re.compile(r"^(?:system\.)?cpu$|cpu[_ .]?(?:util|percent)|(?:^|[./])proc\.cpu", re.IGNORECASE)),
    ("memory", re.compile(r"mem(?:ory)?(?:_|$)|alloc(?:ated)?(?:_|$)|reserved(?:_|$)|memory\.used|gpu\.\d+\.memoryAllocatedBytes", re.IGNORECASE)),
    (
        "metric",
        re.compile(r"acc(?:uracy)?\d*$|top[-_@]?\d|dice|iou|map|(?:\b|_)f1|auc|auroc|bleu|wer|reward|recall|precision|r@\d|ctc|fer$", re.IGNORECASE),
    ),
)  # fmt: skip
"""First match wins."""
_NO_ROLE = re.compile(
    r"gpu\.\d+\.memory$|availableMB$|cpu\.threads$|(?:utilization|temperature)\.memory", re.IGNORECASE
)
"""Readings of W&B and nvidia-smi whose names look like another quantity: shares of time, free memory, counts."""
_NOT_LOSS = re.compile(r"weight|coef|scale|lambda|early|best|total_loss_mask|num_|free", re.IGNORECASE)
_EVALUATION = re.compile(r"(?:^|[/_. -])(?:val|valid|validation|eval|evaluation|test|dev)(?:$|[/_. -])", re.IGNORECASE)
_TRAINING = re.compile(r"(?:^|[/_. -])train(?:ing)?(?:$|[/_. -])", re.IGNORECASE)
_PART = re.compile(
    r"(?:^|[/_. -])(?:[dg]|disc(?:riminator)?|gen(?:erator)?|adv\w*|critic|actor|policy|value|vf|pg|q[fs]?\d?|td|entropy|kl|kld|aux\w*"
    r"|reg|recon\w*|alpha|temp\w*|commit\w*|err[dg]|real|fake|cycle|idt|rpn|box|cls|dfl|obj|mask|perceptual|tv|style|content)(?:$|[/_. -])|err[DG]$",
    re.IGNORECASE,
)
_EXPONENTIAL = re.compile(r"ppl|perplexity", re.IGNORECASE)


@lru_cache(maxsize=4096)
def role_of(key: str, *, evaluation: bool = False) -> str | None:
    """The role of a metric by its name, or None; a loss of an evaluation is an `eval-loss`."""
    if _NO_ROLE.search(key):
        return None
    for role, pattern in ROLES:
        if pattern.search(key):
            if role in {"loss", "eval-loss"} and _NOT_LOSS.search(key):
                return None
            return "eval-loss" if evaluation and role == "loss" else role
    return None


@lru_cache(maxsize=4096)
def is_evaluation(key: str) -> bool:
    """Whether a key names a split that is not trained on: `val/acc`, `eval_loss`, `loss/test`."""
    return bool(_EVALUATION.search(key)) and not _TRAINING.search(key)


@lru_cache(maxsize=4096)
def is_part(key: str) -> bool:
    """Whether a loss is one term of several, or of players against each other: it need not fall to be healthy."""
    return bool(_PART.search(key))


def is_exponential(key: str) -> bool:
    """Perplexity is exp(loss): it overflows while the loss is fine."""
    return bool(_EXPONENTIAL.search(key))
