"""Roles of metric names: what people and frameworks call a loss, a score, a norm, and what only looks like one."""

from __future__ import annotations

import pytest

from experiment_debugger.readers.roles import is_evaluation, is_part, role_of, words_of

ROLES = {
    "loss": (
        "mse", "mae", "bce", "ce", "nt_xent", "train_nll", "train_ce", "kd_loss", "loss_kl", "train/loss_epoch",
        "lm loss", "train/mse", "trainLoss", "aux.loss_ce", "cross_entropy", "train/kl", "neg_elbo", "logloss",
        "train/value_loss", "value_loss", "policy_gradient_loss", "triplet/hard_loss", "loss/parity_weighted",
        "loss[0]", "Loss/D", "ppl", "train.mse",
    ),
    "eval-loss": (
        "val_rmse", "val_nll", "eval/mse", "valid.mae", "Validation Loss", "valLoss", "loss/test", "dev_ce",
        "v_loss",
    ),
    "grad-norm": (
        "grad_norm", "grad/norm", "grad/first_layer", "grad_2.0_norm_total", "grad_2.0_norm/layer1.weight",
        "grad_last", "gnorm", "gradient_norm/encoder", "total_norm", "actor/grad_norm", "grad_norm_clipped",
    ),
    "learning-rate": (
        "lr", "lr-AdamW/pg1", "train/lr", "learning rate", "lr_group0", "base_lr", "backbone_lr",
    ),
    "loss-scale": (
        "amp/scale", "scale", "loss scale", "grad_scale", "loss_scaler",
    ),
    "step-time": (
        "time/iter_ms", "iter_ms", "step_seconds", "time", "s/it", "batch_time",
    ),
    "throughput": (
        "perf/samples_per_sec", "tokens_per_sec", "imgs/sec", "it/s", "time/fps", "steps/s", "step/s",
    ),
    "metric": (
        "r2", "valid.r2", "acc/val", "val_acc_hard", "val_acc5", "val/acc_fold0", "rollout/ep_rew_mean",
        "episode_reward", "ep_return", "charts/episodic_return", "train/elbo", "ELBO", "metrics/mAP50-95(B)",
        "bbox_mAP_50", "r@10", "mIoU", "top-1", "AUROC", "test accuracy", "eval_rougeL", "decode.acc_seg",
        "valid_wer",
    ),
    None: (
        "lr_find/loss", "lr_finder_lr", "stage", "step", "t", "elapsed", "_runtime", "epoch", "best_val_acc",
        "max_grad_norm", "gradient_accumulation_steps", "grad_acc_steps", "gradient_checkpointing", "grad_clip",
        "loss_weight", "kl_coef", "approx_kl", "lr_scheduler", "max_lr", "warmup_bias_lr", "grad_mean", "tower",
        "remap", "place", "force", "losses.py", "std_dev", "scaled_dot", "lr-SGD/pg1-momentum", "hidden_size",
        "version",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("role", "key"), [(role, key) for role, keys in ROLES.items() for key in keys])
def test_roles_follow_the_name(role: str | None, key: str) -> None:
    assert role_of(key) == role


def test_a_loss_of_an_evaluation_is_an_eval_loss_whatever_its_name() -> None:
    assert role_of("mse", evaluation=True) == "eval-loss"
    assert role_of("acc", evaluation=True) == "metric"


@pytest.mark.parametrize("key", ["val_rmse", "acc/val", "valAcc", "test accuracy", "dev/loss", "Validation Loss"])
def test_splits_that_are_not_trained_on_are_told_by_a_whole_word(key: str) -> None:
    assert is_evaluation(key)


@pytest.mark.parametrize(
    "key", ["value_loss", "train/value_loss", "std_dev", "train/val_ratio", "latest_loss", "evals"]
)
def test_other_words_are_no_split(key: str) -> None:
    assert not is_evaluation(key)


def test_terms_of_a_sum_are_told_by_a_whole_word() -> None:
    assert is_part("train/value_loss")
    assert is_part("loss_D")
    assert not is_part("train/cross_entropy")
    assert not is_part("tracking_loss")


def test_names_are_cut_into_words() -> None:
    assert words_of("train/valueLoss") == "train value loss"
    assert words_of("gpu.0.mAP50(B)") == "gpu 0 map50 b"
