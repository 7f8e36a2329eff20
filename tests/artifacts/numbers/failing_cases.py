"""The failing runs: each failure in at least two sources of numbers; the console says little."""

from run import Run

TWICE = """bash {job} > {log} 2>&1
sleep 1.1
bash {job} >> {log} 2>&1"""
AT_ONCE = """bash {job} > {log} 2>&1 &
python train.py --config configs/{run}.yaml --set seed=1 lr=0.0005 > logs/{run}-b.log 2>&1
wait"""
ONE_LOG_A_RANK = (
    "torchrun --standalone --nproc-per-node 2 --log-dir outputs/{run} -r 3 train.py --config configs/{run}.yaml"
)
HF = {
    "max_steps": 120,
    "per_device_train_batch_size": 32,
    "logging_steps": 5,
    "eval_strategy": "steps",
    "eval_steps": 40,
    "save_strategy": "steps",
    "save_steps": 120,
    "report_to": "tensorboard",
}


def hf(run: str, **changes: object) -> dict[str, object]:
    return {**HF, "output_dir": f"output/{run}", **changes}


NONFINITE = (
    Run(
        "nan-early-text", "lr_too_large", "text", "run-1", {"lr": 0.16, "steps": 120},
        "learning rate too large: gradient norm and loss grow from the first step, then inf and NaN",
        "nan-gradient", ("loss-nan-onset",), onset=True,
    ),
    Run(
        "nan-early-wandb", "lr_too_large", "wandb", "run-2", {"lr": 0.2, "steps": 120, "seed": 3},
        "learning rate too large: gradient norm and loss grow from the first step, then inf and NaN",
        "nan-gradient", ("loss-nan-onset",), onset=True,
    ),
    Run(
        "nan-late-tensorboard", "log_of_zero", "tensorboard", "run-3", {"lr": 0.003, "steps": 800, "log_every": 2},
        "one batch has a count of zero, whose log is -inf: inf at step 600 of 800, NaN from there",
        "nan-gradient", ("loss-nan-onset",), onset=True,
    ),
    Run(
        "nan-late-lightning", "log_of_zero_lightning", "csv", "version_0",
        {"lr": 0.003, "steps": 800, "log_every": 3},
        "one batch has a count of zero, whose log is -inf: inf at step 600 of 800, NaN from there",
        "nan-gradient", ("loss-nan-onset",), onset=True,
    ),
    Run(
        "grad-norm-nan-tensorboard", "guarded_step", "tensorboard", "run-4", {"lr": 0.003, "steps": 240},
        "sqrt has no gradient at 0: the norm is NaN from step 90, every step is left out, the loss stays finite",
        "nan-gradient", ("grad-norm-nonfinite",), onset=True,
    ),
    Run(
        "grad-norm-nan-wandb", "guarded_step", "wandb", "run-5", {"lr": 0.003, "steps": 150, "seed": 2},
        "sqrt has no gradient at 0: the norm is NaN from step 90, every step is left out, the loss stays finite",
        "nan-gradient", ("grad-norm-nonfinite",), onset=True,
    ),
    Run(
        "zero-loss-hf-tensorboard", "hf_classifier", "hf", "run-6",
        {"rows": 3840, "first_unreadable_row": 1740, "quiet": True, "trainer": hf("run-6", learning_rate=0.003)},
        "a row of NaN; logging_nan_inf_filter shows the lost loss as 0.0, grad_norm is nan",
        "nan-gradient", ("loss-zero-grad-nan",), onset=True,
    ),
    Run(
        "zero-loss-hf-text", "hf_classifier", "text", "run-7",
        {
            "rows": 3840,
            "first_unreadable_row": 940,
            "trainer": hf("run-7", learning_rate=0.003, report_to="none", save_strategy="no"),
        },
        "a row of NaN; logging_nan_inf_filter shows the lost loss as 0.0, grad_norm is nan",
        "nan-gradient", ("loss-zero-grad-nan",),
    ),
    Run(
        "scale-collapse-tensorboard", "scale_collapse", "tensorboard", "run-8",
        {"lr": 0.01, "steps": 260, "report_loss": True},
        "fp16 overflows from step 80 on: every step is skipped, the loss scale halves to the floor",
        "nan-gradient", ("loss-scale-collapse",), onset=True,
    ),
    Run(
        "scale-collapse-csv", "scale_collapse", "csv", "run-9", {"lr": 0.01, "steps": 260, "report_loss": False},
        "fp16 overflows from step 80 on: the loss scale, all that is recorded, halves to the floor",
        "nan-gradient", ("loss-scale-collapse",), onset=True,
    ),
    Run(
        "diverged-tensorboard", "diverge", "tensorboard", "run-10",
        {"lr": 0.2, "warmup_steps": 300, "milestone": 9999, "gamma": 1.0, "steps": 500},
        "the loss falls until warm-up makes the learning rate too large, then leaves for good and stays finite",
        "nan-gradient", ("loss-diverged",), onset=True,
    ),
    Run(
        "diverged-text", "diverge", "text", "run-11",
        {"lr": 0.002, "warmup_steps": 20, "milestone": 400, "gamma": 100.0, "steps": 600, "log_every": 5},
        "the milestone at step 400 multiplies the learning rate by 100 instead of dividing it",
        "nan-gradient", ("loss-diverged",), onset=True,
    ),
    Run(
        "exploding-wandb", "chaotic_rnn", "wandb", "run-12", {"lr": 0.002, "steps": 150, "gain": 2.5, "longest": 80},
        "gradient norm grows from 1 to many millions with the length of the sequences; clipping hides it in the loss",
        "nan-gradient", ("gradient-exploding",),
    ),
    Run(
        "exploding-tensorboard", "chaotic_rnn", "tensorboard", "run-13",
        {"lr": 0.002, "steps": 300, "gain": 3.0, "longest": 60, "log_every": 2},
        "gradient norm grows from 1 to many millions with the length of the sequences; clipping hides it in the loss",
        "nan-gradient", ("gradient-exploding",),
    ),
)  # fmt: skip
NOT_LEARNING = (
    Run(
        "lr-zero-wandb", "classifier", "wandb", "run-20", {"lr": 0.0, "warmup_steps": 10, "steps": 150},
        "learning rate 0 from the first step to the last: loss stays near ln 10 although there are gradients",
        "silent-error", ("learning-rate-zero",),
    ),
    Run(
        "lr-zero-hf", "hf_classifier", "hf", "run-21",
        {"rows": 3840, "quiet": True, "trainer": hf("run-21", learning_rate=0.0)},
        "learning rate 0 in the Trainer: loss and eval_loss do not move",
        "silent-error", ("learning-rate-zero",),
    ),
    Run(
        "zero-grad-order-tensorboard", "zero_grad_order", "tensorboard", "run-22", {"lr": 0.05, "steps": 400},
        "gradients are zeroed before the optimizer steps: grad_norm 0, loss near ln 10",
        "silent-error", ("loss-never-learned",),
    ),
    Run(
        "zero-grad-order-text", "zero_grad_order", "text", "run-23", {"lr": 0.05, "steps": 600, "log_every": 5},
        "gradients are zeroed before the optimizer steps: grad_norm 0, loss near ln 10",
        "silent-error", ("loss-never-learned",),
    ),
    Run(
        "shuffled-labels-csv", "shuffled_labels", "csv", "run-24", {"lr": 0.001, "steps": 600, "log_every": 3},
        "features and labels were shuffled apart: gradients, but the loss stays at ln 10",
        "silent-error", ("loss-never-learned",),
    ),
    Run(
        "shuffled-labels-wandb", "shuffled_labels", "wandb", "run-25",
        {"lr": 0.001, "steps": 480, "log_every": 4, "seed": 7},
        "features and labels were shuffled apart: gradients, but the loss stays at ln 10",
        "silent-error", ("loss-never-learned",),
    ),
    Run(
        "decay-per-batch-tensorboard", "decay_per_batch", "tensorboard", "run-26",
        {"lr": 0.05, "epochs": 12, "batches": 100, "log_every": 2},
        "the schedule of epochs is stepped every batch: the learning rate is gone after 4 % of the run",
        "silent-error", ("learning-rate-decayed-early",), onset=True,
    ),
    Run(
        "decay-per-batch-lightning", "decay_per_batch_lightning", "csv", "version_0",
        {"lr": 0.05, "epochs": 15, "batches": 50, "log_every": 2},
        "interval: step for a schedule of epochs: the learning rate is gone after 4 % of the run",
        "silent-error", ("learning-rate-decayed-early",), onset=True,
    ),
    Run(
        "warmup-endless-wandb", "classifier", "wandb", "run-28", {"lr": 0.002, "warmup_steps": 10_000, "steps": 150},
        "the run ends in its warm-up, at 1.5 % of the learning rate that was set",
        "silent-error", ("learning-rate-warmup-unfinished",),
    ),
    Run(
        "warmup-endless-hf", "hf_classifier", "hf", "run-29",
        {"rows": 3840, "quiet": True, "trainer": hf("run-29", learning_rate=0.003, warmup_steps=5000)},
        "the run ends in its warm-up, at 2.4 % of the learning rate that was set",
        "silent-error", ("learning-rate-warmup-unfinished",),
    ),
    Run(
        "lr-restarted-tensorboard", "resume_schedule", "tensorboard", "run-30",
        {"lr": 0.01, "warmup_steps": 40, "steps": 480, "time_limit_steps": 300, "log_every": 2},
        "the schedule is not restored at resume: warm-up once more at step 300",
        "silent-error", ("learning-rate-restarted",), onset=True, driver=TWICE,
    ),
    Run(
        "lr-restarted-text", "resume_schedule", "text", "run-31",
        {"lr": 0.01, "warmup_steps": 60, "steps": 600, "time_limit_steps": 350, "log_every": 5},
        "the schedule is not restored at resume: warm-up once more at step 350",
        "silent-error", ("learning-rate-restarted",), onset=True, driver=TWICE,
    ),
    Run(
        "resume-from-nothing-tensorboard", "resume_nothing", "tensorboard", "run-32",
        {"lr": 0.003, "steps": 300, "time_limit_steps": 180},
        'strict=False hides that no key of the checkpoint fits ("module."): the loss starts anew at step 180',
        "repro-failure", ("resume-loss-jump",), onset=True, driver=TWICE,
    ),
    Run(
        "resume-from-nothing-text", "resume_nothing", "text", "run-33",
        {"lr": 0.003, "steps": 400, "time_limit_steps": 240, "log_every": 4},
        'strict=False hides that no key of the checkpoint fits ("module."): the loss starts anew at step 240',
        "repro-failure", ("resume-loss-jump",), onset=True, driver=TWICE,
    ),
    Run(
        "vanishing-tensorboard", "deep_sigmoid", "tensorboard", "run-34", {"lr": 0.05, "steps": 400, "log_every": 2},
        "twenty sigmoid layers: the gradient of the first is 1e-12 of the last, the loss stays at ln 10",
        "silent-error", ("gradient-vanishing",),
    ),
    Run(
        "vanishing-csv", "deep_sigmoid", "csv", "run-35", {"lr": 0.05, "steps": 400, "log_every": 4},
        "twenty sigmoid layers: the gradient of the first is 1e-12 of the last, the loss stays at ln 10",
        "silent-error", ("gradient-vanishing",),
    ),
    Run(
        "frozen-weights-tensorboard", "stale_optimizer", "tensorboard", "run-36", {"lr": 0.003, "steps": 240},
        "the optimizer holds the weights of a model that was replaced: histograms of the weights never change",
        "silent-error", ("weights-frozen",),
    ),
    Run(
        "frozen-weights-wandb", "stale_optimizer", "wandb", "run-37", {"lr": 0.003, "steps": 150, "seed": 4},
        "the optimizer holds the weights of a model that was replaced: weights never change, loss near its start",
        "silent-error", one_of=("weights-frozen", "loss-never-learned"),
    ),
    Run(
        "dead-relu-tensorboard", "dead_relu", "tensorboard", "run-38",
        {"lr": 0.02, "bias": -30.0, "steps": 320, "log_every": 2},
        "biases of -30 instead of -3: every ReLU gives 0, the body has no gradient, the loss stays at ln 10",
        "silent-error", one_of=("weights-frozen", "gradient-vanishing", "loss-never-learned"),
    ),
)  # fmt: skip
METRICS = (
    Run(
        "metric-constant-tensorboard", "stale_outputs", "tensorboard", "run-40", {"lr": 0.003, "steps": 400},
        "validation outputs are cached from the first evaluation: val/acc is the same to the last digit",
        "metric-error", ("metric-constant",),
    ),
    Run(
        "metric-constant-lightning", "stale_teacher_lightning", "csv", "version_0",
        {"lr": 0.003, "epochs": 10, "log_every": 4},
        "the moving average that is evaluated is never updated: val_acc is the same, val_loss falls",
        "metric-error", ("metric-constant",),
    ),
    Run(
        "metric-above-one-wandb", "two_crops", "wandb", "run-42", {"lr": 0.003, "steps": 150, "scale": 1},
        "hits of two crops are divided by the number of rows: an accuracy of 1.9",
        "metric-error", ("metric-out-of-range",), onset=True,
    ),
    Run(
        "metric-above-hundred-tensorboard", "two_crops", "tensorboard", "run-43",
        {"lr": 0.003, "steps": 300, "scale": 100},
        "hits of two crops are divided by the number of rows: an accuracy of 190 %",
        "metric-error", ("metric-out-of-range",), onset=True,
    ),
    Run(
        "leak-csv", "leak", "csv", "run-44", {"lr": 0.003, "epochs": 6},
        "a column that is computed from the label: accuracy 1.0 from the first epoch on, in a table full of noise; "
        "numbers cannot tell that from an easy task: told, no failure",
        None, ("metric-perfect-at-once",),
    ),
    Run(
        "leak-tensorboard", "leak", "tensorboard", "run-45", {"lr": 0.005, "epochs": 8, "seed": 2},
        "a column that is computed from the label: accuracy 1.0 from the first epoch on, in a table full of noise; "
        "numbers cannot tell that from an easy task: told, no failure",
        None, ("metric-perfect-at-once",),
    ),
)  # fmt: skip
RECORDS = (
    Run(
        "two-writers-tensorboard", "classifier", "tensorboard", "run-50",
        {"lr": 0.002, "warmup_steps": 10, "steps": 300, "log_every": 2},
        "two processes with different settings write into one folder at the same time",
        "silent-error", ("tracker-two-writers",), driver=AT_ONCE,
    ),
    Run(
        "two-writers-jsonl", "classifier", "jsonl", "run-51",
        {"lr": 0.02, "warmup_steps": 10, "steps": 300, "log_every": 3},
        "two processes with different settings append to one file at the same time: every step stands twice",
        "silent-error", ("tracker-two-writers",), driver=AT_ONCE,
    ),
    Run(
        "backwards-wandb", "backwards", "wandb", "run-52", {"lr": 0.003, "epochs": 5, "batches": 30},
        "validation is logged with the number of the epoch after higher steps: W&B drops it",
        "silent-error", ("tracker-steps-backwards",),
    ),
    Run(
        "backwards-tensorboard", "backwards", "tensorboard", "run-53", {"lr": 0.003, "epochs": 5, "batches": 60},
        "training is logged with the number of the batch in its epoch: the step goes back to 0 five times",
        "silent-error", ("tracker-steps-backwards",),
    ),
    Run(
        "nothing-logged-wandb", "nothing_logged", "wandb", "run-54", {"lr": 0.003, "steps": 300, "logging_rank": 1},
        "only rank 1 logs and there is no rank 1: a W&B run without history",
        "silent-error", ("tracker-empty",),
    ),
    Run(
        "nothing-logged-tensorboard", "nothing_logged", "tensorboard", "run-55",
        {"lr": 0.003, "steps": 300, "logging_rank": 0, "log_every": 1000},
        "the logging interval is longer than the run: an event file without scalars",
        "silent-error", ("tracker-empty",),
    ),
)  # fmt: skip
SPEED = (
    Run(
        "rss-growth-tensorboard", "keeps_graph", "tensorboard", "run-60",
        {"lr": 0.001, "steps": 400, "batch_size": 256},
        "outputs are kept together with their graph: host memory grows with every step",
        "crash", ("host-memory-growth",),
    ),
    Run(
        "rss-growth-text", "keeps_graph", "text", "run-61",
        {"lr": 0.001, "steps": 500, "batch_size": 256, "log_every": 5},
        "outputs are kept together with their graph: host memory grows with every step",
        "crash", ("host-memory-growth",),
    ),
    Run(
        "data-bound-text", "slow_getitem", "text", "run-62",
        {"lr": 0.001, "steps": 120, "batch_size": 16, "decode_seconds": 0.004, "num_workers": 0, "report": "times"},
        "rows are decoded in the training process: nine tenths of the step wait for data",
        "slow-data", ("data-time-dominates",),
    ),
    Run(
        "data-bound-tensorboard", "slow_getitem", "tensorboard", "run-63",
        {"lr": 0.001, "steps": 120, "batch_size": 16, "decode_seconds": 0.005, "num_workers": 0, "report": "times"},
        "rows are decoded in the training process: nine tenths of the step wait for data",
        "slow-data", ("data-time-dominates",),
    ),
    Run(
        "worker-stalls-wandb", "slow_getitem", "wandb", "run-64",
        {"lr": 0.001, "steps": 80, "batch_size": 16, "decode_seconds": 0.04, "num_workers": 4, "report": "rate"},
        "four workers deliver four batches at once: every fourth step waits",
        "slow-data", ("step-time-stalls-periodic",),
    ),
    Run(
        "worker-stalls-tensorboard", "slow_getitem", "tensorboard", "run-65",
        {"lr": 0.001, "steps": 120, "batch_size": 16, "decode_seconds": 0.005, "num_workers": 2, "report": "step"},
        "two workers deliver two batches at once: every second step waits",
        "slow-data", ("step-time-stalls-periodic",),
    ),
    Run(
        "throughput-drop-tensorboard", "slowing_storage", "tensorboard", "run-66",
        {"lr": 0.003, "steps": 200, "first_far_shard": 6, "near_seconds": 0.008, "far_seconds": 0.03},
        "later shards stand on a slower mount: a third of the throughput from step 120 on",
        "slow-training", ("throughput-drop",), onset=True,
    ),
    Run(
        "throughput-drop-text", "slowing_storage", "text", "run-67",
        {"lr": 0.003, "steps": 240, "first_far_shard": 8, "near_seconds": 0.008, "far_seconds": 0.03, "log_every": 2},
        "later shards stand on a slower mount: a third of the throughput from step 160 on",
        "slow-training", ("throughput-drop",), onset=True,
    ),
    Run(
        "step-growth-wandb", "history_sum", "wandb", "run-68",
        {"lr": 0.003, "steps": 150, "batch_size": 2048, "log_every": 1},
        "a list of all losses is averaged in every step: the step time grows with the step",
        "slow-training", ("step-time-growth",),
    ),
    Run(
        "step-growth-text", "history_sum", "text", "run-69",
        {"lr": 0.003, "steps": 240, "batch_size": 1024, "log_every": 2},
        "a list of all losses is averaged in every step: the step time grows with the step",
        "slow-training", ("step-time-growth",),
    ),
    Run(
        "straggler-tensorboard", "straggler", "tensorboard", "run-70", {"lr": 0.003, "steps": 100},
        "rank 1 needs four times as long for its own pass as rank 0",
        "slow-training", ("rank-straggler",), command=ONE_LOG_A_RANK,
    ),
    Run(
        "straggler-text", "straggler", "text", "run-71", {"lr": 0.003, "steps": 100},
        "rank 1 needs four times as long for its own pass as rank 0",
        "slow-training", ("rank-straggler",), command=ONE_LOG_A_RANK,
    ),
)  # fmt: skip
FAILING: tuple[Run, ...] = NONFINITE + NOT_LEARNING + METRICS + RECORDS + SPEED
