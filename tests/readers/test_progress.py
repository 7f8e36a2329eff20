"""Progress reports of many frameworks: step, epoch, roles, the plan."""

from __future__ import annotations

import io
import math

import pytest

from experiment_debugger.readers.candidates import LOOKED_AT
from experiment_debugger.readers.dialects import read_report
from experiment_debugger.readers.lines import Scan
from experiment_debugger.readers.progress import ProgressReader
from experiment_debugger.readers.roles import is_evaluation, role_of
from experiment_debugger.readers.templates import ReportReader
from experiment_debugger.readers.timestamps import Clock


def read(text: str) -> ProgressReader:
    reader = ProgressReader()
    Scan([reader.literals]).run_stream(io.BytesIO(text.encode()), [reader], Clock())
    return reader


STEPS = [
    ("step    50/5000 loss 5.7725 r@1 0.029 lr 9.91e-04", 50, 5000),
    ("2024-05-08 07:00:41 | INFO | step 120 loss 2.1 grad_norm 0.9", 120, None),
    (
        " iteration    20700/   95000 | consumed samples: 105 | lm loss: 2.1E+00 | loss scale: 1.0 | grad norm: 1.2 |",
        20700,
        95000,
    ),
    ("epoch 001:     50 / 1676 loss=10.2, nll_loss=9.1, num_updates=50, lr=8e-07, gnorm=2607.66", 50, None),
    ('{"epoch": 3, "loss": "0.697", "num_updates": "3120", "lr": "5e-05", "gnorm": "2.982"}', 3120, None),
    (
        "[01/06 18:05:37 d2.utils.events]:  eta: 1:22:03  iter: 10019  total_loss: 0.83  time: 0.41  lr: 0.0025",
        10019,
        None,
    ),
    ("mmengine - INFO - Iter(train) [ 2350/40000]  lr: 9.4e-03  time: 0.48  loss: 0.6465", 2350, 40000),
    ("step: 1000  loss:  4.2828  memory: 87.77GiB(92.40%)  tps: 5,586  mfu: 32.71%", 1000, None),
    ("I1003 09:42:30.512983 139871 train.py:133] step 0 loss 1.0318 grad_norm nan lr 5.000e-07", 0, None),
    ("Step 300     [4.679 sec/step, loss=0.35995, avg_loss=0.37435]", 300, None),
]


@pytest.mark.parametrize(("text", "step", "total"), STEPS)
def test_the_step_is_read_where_it_is_printed(text: str, step: int, total: int | None) -> None:
    reader = read(text + "\n")
    assert list(reader.steps) == [step]
    assert total is None or reader.total_steps == total


EPOCHS = [
    (["Epoch [1][50/1487] lr: 1e-4, loss: 2.0", "Epoch [3][400/1487] lr: 1e-4, loss: 1.0"], [50, 2 * 1487 + 400]),
    (["Epoch(train)  [1][ 450/1340]  lr: 1e-2  loss: nan", "Epoch(train)  [2][  50/1340]  lr: 1e-2  loss: nan"], [450, 1390]),
    (["[Epoch 001/150][Batch 800/3621] Losses = ['6.6', '5.0']", "[Epoch 002/150][Batch 450/3621] Losses = ['1.6']"], [800, 4071]),
    (["I 16:59:38 e0    0/1251 loss 0.5 lr 5e-04", "I 17:04:44 e3  332/1251 loss 0.5 lr 5e-04"], [0, 3 * 1251 + 332]),
    (["ep 14 it 417/1668 px 192 loss 2.756 lr 0.3"], [14 * 1668 + 417]),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "steps"), EPOCHS)
def test_a_position_within_an_epoch_becomes_a_global_step(texts: list[str], steps: list[int]) -> None:
    assert list(read("\n".join(texts)).steps) == steps


def test_a_dict_takes_the_step_of_the_training_bar_not_of_the_evaluation_bar() -> None:
    reader = read(
        "  2%| | 20/1200 [00:30<17:51,  4.9it/s]\r    {'loss': 0.6, 'learning_rate': 2e-05, 'epoch': 0.1}\n"
        " 17%| | 200/1200 [05:00<17:51,  4.9it/s]\n"
        "100%|#| 600/600 [00:15<00:00,  9.3it/s]\n"
        "{'eval_loss': nan, 'eval_runtime': 64.9, 'epoch': 0.17}\n"
    )
    assert list(reader.steps) == [20, 200]
    series = next(series for series in reader.series.values() if series.role == "eval-loss")
    assert math.isnan(series.values[0])


def test_lightning_bars_on_one_line_are_reports_of_their_own() -> None:
    reader = read(
        "Epoch 0:   0%|  | 0/313 [00:00<?, ?it/s]Epoch 0:  15%|# | 50/313 [00:03<00:16, 15.6it/s, train/kl=21.9]"
        "Epoch 1:  23%|# | 75/313 [00:04<00:15, 15.3it/s, train/kl=nan]\n"
    )
    assert list(reader.steps) == [50, 313 + 75]


def test_keras_counts_of_samples_become_batches() -> None:
    reader = read(
        "Train on 1829 samples, validate on 204 samples\nEpoch 1/40\n"
        "  64/1829 [>.....] - ETA: 1:00 - loss: 0.9 - accuracy: 0.5\n1792/1829 [====>.] - ETA: 0s - loss: 0.6 - accuracy: 0.8\n"
    )
    assert list(reader.steps) == [1, 28]


COUNTED = [
    ("1440 mse 27.9 lr 2e-05", 1440, {"mse": 27.9, "lr": 2e-05}),
    ("   60  bce=nan", 60, {"bce": math.nan}),
    ("it 60 ce 0.477", 60, {"ce": 0.477}),
    ("170 kd_loss:1.13 ce_loss:0.37 loss:1.06 teacher_acc:0.97", 170, {"kd_loss": 1.13, "teacher_acc": 0.97}),
    ("14 val_acc 0.998", 14, {"val_acc": 0.998}),
    ("12340: loss 2.308 acc 0.1", 12340, {"loss": 2.308}),
    ('{"step": 3, "train": {"mse": NaN, "size": 4}, "val": {"mse": 0.5}}', 3, {"train.mse": math.nan, "val.mse": 0.5}),
]


@pytest.mark.parametrize(("text", "step", "values"), COUNTED)
def test_lines_without_a_telling_word_are_read_at_the_begin_of_a_log(
    text: str, step: int, values: dict[str, float]
) -> None:
    reader = read(f"starting\n{text}\n")
    found = {series.key: series.values[0] for series in reader.series.values()}
    assert list(reader.steps) == [step]
    assert {key: str(found[key]) for key in values} == {key: str(value) for key, value in values.items()}


def test_lines_without_a_telling_word_are_followed_as_long_as_they_report() -> None:
    chatter = "fetched shard\n" * (LOOKED_AT - 2)
    reader = read("".join(f"{step} mse {step}.5\n{chatter}" for step in (1, 2, 3)) + chatter + "4 mse 0.1\n")
    assert list(reader.steps) == [1, 2, 3]


def test_a_label_that_only_grows_is_a_step_and_one_that_returns_is_a_rank() -> None:
    counted = read("0: loss 2.308\n20: loss 2.281\n40: loss 2.222\n")
    assert list(counted.steps) == [0, 20, 40]
    assert {series.rank for series in counted.series.values()} == {None}
    labelled = read("0: step 1 loss 2.3\n1: step 1 loss 2.2\n0: step 2 loss 2.1\n1: step 2 loss 2.0\n")
    assert list(labelled.ranks) == [0, 1, 0, 1]
    assert list(labelled.steps) == [1, 1, 2, 2]
    assert list(read("[rank0]: final loss 0.1\n1700000000 loss 0.5\n12 files, loss 0.5\n").steps) == []


def test_an_accuracy_in_a_sentence_is_of_the_split_that_it_names_and_follows_training() -> None:
    reader = read(
        "[1,  2000] loss: 2.182\nepoch 1 step 2000 loss 2.1\nFinished Training\n"
        "Accuracy of the network on the 10000 test images: 178.3 %\n"
    )
    series = next(series for series in reader.series.values() if series.role == "metric")
    assert (series.key, list(series.values), list(series.steps)) == ("test accuracy", [178.3], [2000])
    assert is_evaluation(series.key)


def test_the_words_train_and_val_keep_two_metrics_of_one_name_apart() -> None:
    reader = read("Epoch:   1 | Train Loss: 0.29 | Train Acc: 0.96 | Val Loss: 0.31 | Val Acc: 0.91\n")
    assert {series.key: list(series.values) for series in reader.series.values()} == {
        "Train Loss": [0.29], "Train Acc": [0.96], "Val Loss": [0.31], "Val Acc": [0.91],
    }  # fmt: skip


def test_words_of_prose_are_no_metrics() -> None:
    prose = "".join(f">>> curriculum stage: {n} classes at step {n}\n" for n in (2, 4, 6, 8, 10))
    assert not read(prose).series
    assert set(read("".join(f"step {n} wasserstein {n}.5\n" for n in range(5))).series) == {
        ("wasserstein", None, False)
    }


def test_a_log_that_counts_only_epochs_stands_on_the_axis_of_epochs() -> None:
    reader = read("epoch 1: train loss=2.1\nepoch 2: train loss=1.6\n{'loss': 2.3, 'grad_norm': 0.1, 'epoch': 3.25}\n")
    assert [(one.key, one.axis, list(one.steps)) for one in reader.series.values()] == [
        ("train loss", "epoch", [1, 2]), ("loss", "epoch", [3]), ("grad_norm", "epoch", [3]),
    ]  # fmt: skip
    assert list(reader.steps) == [-1, -1, -1]


def test_epochs_become_steps_where_the_log_says_how_many_there_are() -> None:
    reader = read(
        "  Num Epochs = 4\n  Total optimization steps = 400\n{'loss': 2.3, 'epoch': 0.5}\n{'loss': 2.2, 'epoch': 1.0}\n"
    )
    (series,) = reader.series.values()
    assert (series.axis, list(series.steps)) == ("step", [50, 100])


def test_a_series_that_gets_steps_later_forgets_its_epochs() -> None:
    (series,) = read("epoch 7 loss 2.0\nepoch 8 step 900 loss 1.9\nepoch 9 loss 1.8\n").series.values()
    assert (series.axis, list(series.steps)) == ("step", [-1, 900, -1])


def test_percentages_of_samples_give_no_step() -> None:
    reader = read("Train Epoch: 27 [ 1664000/10019840 (16%)] Loss: nan (nan) LR: 0.000028\n")
    assert list(reader.steps) == [-1]
    assert math.isnan(next(iter(reader.series.values())).values[0])


@pytest.mark.parametrize(
    "text",
    [
        "Map:  12%|# | 1200/9000 [00:01<00:08, 950.1 examples/s]",
        "model-00001-of-00003.safetensors:  10%| | 490M/4.9G [00:04<00:40, 110MB/s]",
        "Loading checkpoint shards:  33%|## | 1/3 [00:02<00:05,  2.7s/it]",
        "early stopping: loss did not improve",
        "Non-trainable params: 0, loss function CrossEntropyLoss",
        "{'train_runtime': 1174.2, 'train_loss': 0.1133, 'epoch': 6.0}",
        "{'base_model': 'llama', 'packing': True, 'max_seq_length': 4096, 'learning_rate': 1e-5, 'epochs': 3}",
        '{"optimizer": {"lr": 0.001, "betas": [0.9, 0.999]}, "epochs": 10}',
        '{"model": {"layers": 12, "loss": "ce"}, "lr": 1e-3}',
        "Requirement already satisfied: numpy<3,>=1.23 in ./lib (from torch==2.3.0) (1.26.4)",
        "tensor of shape torch.Size([64, 3, 224, 224]), dtype torch.float32",
        "0   N/A  N/A      1423      C   python train.py      20534MiB",
        "| N/A   35C    P0    61W / 400W |      0MiB / 81920MiB |     87%      Default |",
        "2024-05-08 07:00:41 INFO version 2.3.1, 8 GPUs, accuracy matters",
        "12 files read, 3 skipped",
        "2024 mse of last year",
        "[[node loss/bce/mul (defined at /proj/churn/losses.py:16) ]]",
    ],
)
def test_what_is_no_training_report_is_none(text: str) -> None:
    assert read_report(text) is None


def test_the_planned_end_is_seen_by_epochs_and_by_eta() -> None:
    assert read("Epoch 3/3:  99%|#| 312/313 [00:20<00:00, 15it/s, loss=0.1]\n").reached_plan
    eta = "Epoch(train) [20][{}/380]  lr: 2e-4  eta: 0:00:{}  time: 0.26  loss: 0.7\n"
    assert read(eta.format(300, 20) + eta.format(350, "07")).reached_plan
    assert not read(eta.format(100, 50) + eta.format(150, 37)).reached_plan


@pytest.mark.parametrize(
    ("key", "role"),
    [
        ("loss", "loss"), ("train/loss_step", "loss"), ("lm loss", "loss"), ("val_loss", "eval-loss"), ("eval_loss", "eval-loss"),
        ("loss scale", "loss-scale"), ("loss_scale", "loss-scale"), ("grad norm", "grad-norm"), ("gnorm", "grad-norm"),
        ("lr", "learning-rate"), ("lr-AdamW", "learning-rate"), ("data_time", "data-time"), ("loss_weight", None), ("layer", None),
    ],
)  # fmt: skip
def test_roles_follow_the_name(key: str, role: str | None) -> None:
    assert role_of(key) == role


def test_ranks_of_one_log_are_kept_apart() -> None:
    reader = read("[rank0]: step 1 loss 1.0\n[rank1]: step 1 loss nan\n")
    assert {column.rank: column.values[0] for column in reader.series.values()}[0] == 1.0
    assert list(reader.ranks) == [0, 1]


def test_a_template_reads_what_the_dialects_read() -> None:
    lines = [
        f"Epoch: [{epoch}][{at:4d}/ 625]\tTime 0.{at % 7 + 1}40 ( 0.257)\tLoss {2 - at / 625:.4e} (2.7e+00)\tAcc@1 {at % 90}.5"
        for epoch in range(3)
        for at in range(0, 625, 25)
    ]
    lines += [f"step {number} loss {number} lr 0.1 rank 1 of 2" for number in (1, 2, 1, 3)]
    reader = ReportReader()
    for line in lines:
        assert reader.read(line) == read_report(line)


def test_numbers_that_are_equal_by_chance_do_not_swap_places() -> None:
    reader = ReportReader()
    reports = [reader.read(f"step {step} loss {loss} lr 5") for step, loss in ((5, 5), (6, 5), (5, 7), (8, 9))]
    assert [(report.step, report.values["loss"]) for report in reports if report] == [(5, 5), (6, 5), (5, 7), (8, 9)]


@pytest.mark.parametrize(
    "text",
    [
        "step 99999999999999999999999 loss 1.0",
        "step " + "9" * 400 + " loss 1.0",
        "Epoch [" + "9" * 400 + "][5/10] loss 1.0",
        "Epoch [99999999999][9999999999/99999999999] loss 1.0",
        "Total optimization steps = ,",
        "eta: " + "9" * 400 + " days, 1:00:00 iter: 5 loss: 1.0",
        "1/39 4.21G naif 0.1 46 640:",
    ],
)
def test_numbers_beyond_any_count_are_no_steps_and_end_nothing(text: str) -> None:
    reader = read(f"step 1 loss 2.0\n{text}\nstep 2 loss 1.9\n")
    assert [step for step in reader.steps if step in {1, 2}] == [1, 2]
    assert len(reader.lines) == len(reader.steps) == len(reader.times) == len(reader.ranks)
