"""What a metric measures, told by its name: the role that detectors ask for; the original key is kept next to it.

train/loss_step -> loss      eval/mse, loss/val -> eval-loss     Loss/D -> loss      lr-AdamW/pg1 -> learning-rate
gnorm, grad/fc1 -> grad-norm samples/s -> throughput             data_time -> data-time       time/iter_ms -> step-time
gpu.0.memoryAllocatedBytes -> memory     utilization.gpu -> gpu-utilisation      val_acc, ep_rew_mean -> metric

A name is cut into words first (`train/value_loss`, `trainLoss` -> "train loss"), so that no word is found inside
another: `value_loss` is no validation loss, `tower` no word error rate. Units and device names are told by spelling.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_BOUNDARY = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z]{2})(?=[A-Z])")
_NONE = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Naming:
    """How the quantity of one role is called: by words between blanks, `unless` others stand there, or by spelling."""

    words: re.Pattern[str] = _NONE
    unless: re.Pattern[str] = _NONE
    spelling: re.Pattern[str] = _NONE

    def fits(self, key: str, words: str) -> bool:
        """Whether a key, of these words, has this name."""
        if self.words.search(words) and not self.unless.search(words):
            return True
        return bool(self.spelling.search(key))


def _words(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b")


def _spelled(*forms: str) -> re.Pattern[str]:
    return re.compile("|".join(forms), re.IGNORECASE)


_LOSS_WORDS = (
    r"\w*loss(?:es)?", "loss ?value", "nll", "b?ce", r"r?mse\d*", r"mael?\d*", "mape", "xent", "nce", "infonce", "kld", "ppl",
    "perplexity", "cross ?entropy", "neg(?:ative)? elbo", "objective$", r"\w*cost$", "(?:smooth )?l[12]$",
    r"^(?:\w+ )?recon\w*$",
    "^(?:(?:train|val|valid|eval|test|loss|losses) )?kl(?: div\\w*)?$", "mlog ?loss",
)  # fmt: skip
_NO_LOSS = _words(
    r"weights?", r"coef\w*", r"scal\w+", r"lambda\w*", "early", "best", "total loss mask", "num", "count", "free", "approx",
    "params?", "delta", "patience",
)  # fmt: skip
_NO_GRADIENT_NORM = _words(
    "loss(?:es)?", r"acc(?:um\w*)?", "steps?", r"scale\w*", "clip", "max grad norm", r"ckpt|checkpoint\w*", "penalty", "policy",
    "nans?", "infs?", "count", "num", "overflows?", "skipped", "ratio", "cos(?:ine)?", r"sim\w*", "noise", "time", "ms", "snr",
)  # fmt: skip
_OTHER_STATISTICS = "mean|std|var|max|min|abs|hist|sum|zeros?|bytes"
_METRIC_WORDS = (
    r"[a-z]{0,4}acc(?:uracy|uracies)?\d*", r"top \d+", r"\w*top\d+", r"r \d+$", "dice", r"\w*iou", r"m?ap\d*", r"f1\d*", "fscore",
    "r2", "r squared", "auc", "auroc", "auprc", r"bleu\d*", r"rouge\w*", "[wcf]er", "psnr", "ssim", "fid", "mcc", "kappa", "ndcg", "mrr",
    "rewards?", "rew", "returns?", r"ep\w*ret", "recall", "precision", "success rate", "win rate", "exact match", "elbo", "ctc",
)  # fmt: skip
_NO_METRIC = _words(
    r"grad\w*", "steps?", r"accum\w*", "time", "num", "count", "weight", r"coef\w*", "threshold", "patience", "target",
    r"scal\w+", "clip", "norm", "best",
)  # fmt: skip

ROLES: tuple[tuple[str, Naming], ...] = (
    ("loss-scale", Naming(_words("loss ?scale", "(?:amp|grad(?:ient)?|fp16) scale", "scaler", "^scale$"))),
    (
        "grad-norm",
        Naming(
            _words("gnorm", "gradnorm", r"grad(?:ient)?s?(?: \w+)* norm", "total norm",
                   rf"grad(?:ient)?s?(?! (?:\w+ )*(?:{_OTHER_STATISTICS})\b)"),
            _NO_GRADIENT_NORM,
        ),
    ),
    (
        "learning-rate",
        Naming(
            _words("lr", "learning ?rate"),
            _words("loss(?:es)?", "decay", r"mult\w*", "ratio", "factor", r"schedul\w*", "momentum", r"scal\w+", "max", "min", "final", "warmup", "init\\w*"),
        ),
    ),
    (
        "data-time",
        Naming(
            spelling=_spelled(
                r"^data(?:[_ ]?(?:time|wait|t))?(?:_m?s)?$", r"^collate(?:$|[+_/ ])", r"data_?(?:load(?:ing)?_?)?time",
                r"(?:^|[_/.])t?_?wait_?batch", r"(?:load(?:er)?|batch|data)_(?:wait|load)(?:_|$)", r"^(?:time|perf)/data",
            )
        ),
    ),
    (
        "step-time",
        Naming(
            spelling=_spelled(
                r"^(?:batch_?time|step_?time|time(?:_ms)?|dt(?:_ms)?|(?:m?s|sec)/(?:it|iter|step))$",
                r"^t_(?:total|step|iter|batch)(?:_m?s)?$", r"(?:step|iter(?:ation)?|batch)_?time(?:_?m?s)?$",
                r"(?:^|[/_.])(?:step|iter(?:ation)?|batch)_(?:ms|s|secs?|seconds)$",
                r"(?:time|s|sec|seconds)_per_(?:step|iter\w*|batch)$", r"elapsed time per iteration",
            )
        ),
    ),
    (
        "throughput",
        Naming(
            spelling=_spelled(
                r"(?:samples?|tokens?|tok|images?|imgs?|its?|iterations?|steps?|examples|seqs|frames|words|updates)"
                r"(?:/|_?per_?)(?:s|sec|second)(?:/\w+)?$",
                r"throughput", r"(?:^|/)(?:fps|sps|tps|tgs|wps|ups)$",
            )
        ),
    ),
    ("loss", Naming(_words(*_LOSS_WORDS), _NO_LOSS)),
    (
        "host-memory",
        Naming(spelling=_spelled(
            r"(?:^|[._/])(?:vms|rss|ram|host_?mem\w*|cpu_?mem\w*|proc\.memory\S*|^system\.memory(?:_percent)?)"
            r"(?:_?(?:[kmg]i?b|bytes|percent))?$"
        )),
    ),
    ("gpu-utilisation", Naming(spelling=_spelled(r"utilization\.gpu|gpu(?:\.\d+)?\.gpu$|gpu[_ .]?util|^sm(?:%|$)"))),
    ("gpu-temperature", Naming(spelling=_spelled(r"temperature\.gpu|gpu\.\d+\.temp$|^gtemp$|gpu[_ .]?temp"))),
    ("gpu-clock", Naming(spelling=_spelled(r"clocks?\.(?:current\.)?(?:sm|gr|graphics)|^pclk$|sm_?clock"))),
    ("gpu-power", Naming(spelling=_spelled(r"power\.draw|gpu\.\d+\.powerWatts$|^pwr$"))),
    ("cpu-utilisation", Naming(spelling=_spelled(r"^(?:system\.)?cpu$|cpu[_ .]?(?:util|percent)|(?:^|[./])proc\.cpu"))),
    (
        "memory",
        Naming(spelling=_spelled(
            r"mem(?:ory)?(?:_|$)|alloc(?:ated)?(?:_|$)|reserved(?:_|$)|memory\.used|gpu\.\d+\.memoryAllocatedBytes"
        )),
    ),
    ("metric", Naming(_words(*_METRIC_WORDS), _NO_METRIC)),
)  # fmt: skip
"""First match wins; a loss of a split that is not trained on is an `eval-loss`."""
_NO_ROLE = re.compile(
    r"gpu\.\d+\.memory$|availableMB$|cpu\.threads$|(?:utilization|temperature)\.memory|\blr[_/ -]?(?:find|range)|\.(?:py|cpp|cc?|cuh?|h)$",
    re.IGNORECASE,
)
"""Names that look like another quantity: readings of W&B and nvidia-smi that are shares of time, free memory and counts;
the sweep of a learning-rate finder, which is no training; and files of code, `losses.py:16`."""
_HELD_OUT = _words("val", "valid", "validation", "eval", "evaluation", "test", "testing", r"(?<!std )dev", "holdout")
_TRAINING = _words("train", "training")
_SHORT_EVALUATION = re.compile(r"^v_?loss", re.IGNORECASE)
_PART = _words(
    "[dg]", r"disc(?:riminator)?", r"gen(?:erator)?", r"adv\w*", "critic", "actor", "policy", "value", "vf", "pg", r"q[fs]?\d?", "td",
    "entropy", "kl", "kld", r"aux\w*", "reg", r"recon\w*", "alpha", r"temp\w*", r"commit\w*", "err[dg]", "real", "fake", "cycle",
    "idt", "rpn", "box", "cls", "dfl", "obj", "mask", "perceptual", "tv", "style", "content", "penalty",
)  # fmt: skip
_CROSS_ENTROPY = re.compile(r"\bcross entropy\b")
_EXPONENTIAL = _words("ppl", "perplexity")


@lru_cache(maxsize=4096)
def words_of(key: str) -> str:
    """The words of a name in lower case: `train/valueLoss` is "train value loss"."""
    return " ".join(_BOUNDARY.split(key)).strip().lower()


@lru_cache(maxsize=4096)
def role_of(key: str, *, evaluation: bool = False) -> str | None:
    """The role of a metric by its name, or None; a loss of an evaluation is an `eval-loss`."""
    if _NO_ROLE.search(key):
        return None
    words = words_of(key)
    role = next((role for role, naming in ROLES if naming.fits(key, words)), None)
    if role == "loss" and (evaluation or is_evaluation(key) or _SHORT_EVALUATION.match(key)):
        return "eval-loss"
    return role


@lru_cache(maxsize=4096)
def is_evaluation(key: str) -> bool:
    """Whether a key names a split that is not trained on: `val/acc`, `eval_loss`, `loss/test`."""
    words = words_of(key)
    return bool(_HELD_OUT.search(words)) and not _TRAINING.search(words)


@lru_cache(maxsize=4096)
def is_part(key: str) -> bool:
    """Whether a loss is one term of several, or of players against each other: it need not fall to be healthy."""
    return bool(_PART.search(_CROSS_ENTROPY.sub("", words_of(key))))


def is_exponential(key: str) -> bool:
    """Perplexity is exp(loss): it overflows while the loss is fine."""
    return bool(_EXPONENTIAL.search(words_of(key)))
