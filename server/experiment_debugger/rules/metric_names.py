"""Which metrics are shares of something, told by their name: they cannot leave [0, 1], or [0, 100] as a percentage.

val/acc  eval_accuracy  metrics/mAP50-95(B)  top1  mIoU  val_f1  AUROC  Dice            shares
R2  MCC  kappa  BLEU  SSIM  PSNR  WER  reward  GIoU  grad_acc_steps  best_acc            not, or not of one evaluation
"""

from __future__ import annotations

import re
from functools import lru_cache

_SHARE = re.compile(
    r"^(?:[abmf]|bin|pixel|mean|top)?(?:acc(?:uracy|uracies)?|iou|ap|map|f1|f1score|fscore|precision|recall"
    r"|auc|auroc|auprc|rocauc|dice|dsc)\d*$",
    re.IGNORECASE,
)
_TOP = re.compile(r"^(?:top[-_@]?\d+|acc\d+)$", re.IGNORECASE)
_OTHER = re.compile(
    r"(?i)loss|(?:^|[^a-z])(?:grad|steps?|weight|coef|num|n|count|total|size|std|var|time|delta|diff|gain|improve\w*|rel|corr"
    r"|adj\w*|rewards?|returns?|err|error|mae|rmse|noise|thres\w*|target|best|baseline|chance|random|majority|log|len|max|min"
    r"|[gdc]iou|logits?|entropy|temperature|bits?|mixed|compute|dtype|amp)(?:[^a-z]|$)"
)
_WORDS = re.compile(r"[^A-Za-z0-9]+")
_ACCURACY = re.compile(r"^(?:acc(?:uracy)?|top[15]|acc[15])$", re.IGNORECASE)
_OF_CLASS = re.compile(
    r"(?i)[-_./](?:class\W?\w+|s|m|l|small|medium|large|background)$|(?:^|[/_ ])(?:AP|IoU|Acc)[-.]\D"
)
_AREA = re.compile(r"^(?:auc|auroc|auprc|rocauc)$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def is_share(key: str) -> bool:
    """Whether a metric is a share of one evaluation."""
    if _OTHER.search(key):
        return False
    words = [word for word in _WORDS.split(key) if word]
    return any(_SHARE.match(word) or _TOP.match(word) for word in words)


def is_accuracy(key: str) -> bool:
    """Whether a share is an accuracy: of single decisions, never far below chance."""
    return is_share(key) and any(_ACCURACY.match(word) for word in _WORDS.split(key))


def is_area(key: str) -> bool:
    """Whether a share is the area under a curve: about a half for a guess."""
    return is_share(key) and any(_AREA.match(word) for word in _WORDS.split(key))


def is_of_class(key: str) -> bool:
    """Whether a metric is of one class or size: `AP-person`, `IoU.background`, `bbox_mAP_s`; it may not occur."""
    return bool(_OF_CLASS.search(key))
