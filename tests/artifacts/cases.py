"""The table of cases."""

import onsets
from case import Case, local, slurm, started

NAN_CONFIG = """seed: 0
batch_size: 32
features: 12
lr: 3.0e-4
clip: 1.0
max_steps: 300
log_every: 1
"""
MLP_CONFIG = """seed: 0
samples: 2048
image_shape: [3, 32, 32]
in_features: 784
hidden: 256
classes: 10
batch_size: 64
lr: 0.05
epochs: 3
"""
HF_CONFIG = """model:
  hidden_size: 32
  num_hidden_layers: 2
  num_attention_heads: 2
  intermediate_size: 64
  max_position_embeddings: 16
data:
  rows: {rows}
  missing: {missing}
trainer:
  output_dir: {output}
  seed: 42
  num_train_epochs: 2
  per_device_train_batch_size: 16
  learning_rate: 1.0e-3
  logging_steps: {every}
  eval_strategy: epoch
  save_strategy: epoch
  report_to: none
  use_cpu: true
"""
LIGHTNING_CONFIG = """seed: 7
progress_bar: {bar}
model:
  lr: {lr}
  eps: {eps}
data:
  dim: 6
  rows: 640
  identical: {identical}
trainer:
  max_epochs: {epochs}
  log_every_n_steps: 5
  detect_anomaly: {anomaly}
"""
BIGRAM_CONFIG = "seed: 1\nvocab_size: {vocab}\ndim: 16\nlr: 0.02\nmax_iters: 100\n"
PORT_SWEEP = """#!/usr/bin/env bash
# two settings side by side on one node
export MASTER_ADDR=127.0.0.1 MASTER_PORT=29500
cd /workspace/proj
python train.py --lr 0.05 > logs/run-42.log 2>&1 &
sleep 5
python train.py --lr 0.10 > logs/run-43.log 2>&1
wait
"""
TERMINATE_AT_300 = """mkdir -p logs
bash jobs/run-42.sh > logs/run-42.log 2>&1 &
until grep -qs "step=300 " logs/run-42.log; do sleep 0.05; done
pkill -TERM -P $!
wait $!"""
FILL_DISK = """mkdir -p checkpoints
mount -t tmpfs -o size={size} scratch checkpoints
export SLURM_JOB_ID={job}
bash jobs/embed.sh > slurm-{job}.out 2>&1
mount -o remount,size=8m checkpoints
SLURM_RESTART_COUNT=1 bash jobs/embed.sh > slurm-{job}-1.out 2>&1
umount checkpoints && rmdir checkpoints"""
CUT_CHECKPOINT = """mkdir -p checkpoints logs
bash jobs/run-20.sh > logs/run-20.log 2>&1
rm checkpoints/step_50.pt
truncate -s {size} checkpoints/step_100.pt
bash jobs/run-21.sh > logs/run-21.log 2>&1"""
# wandb records platform.platform(): a neutral kernel name in place of this machine's.
NEUTRAL_PLATFORM = """mkdir -p logs $HOME/site
echo 'import platform; platform.platform = lambda *a, **k: "Linux-6.1.0-x86_64-with-glibc2.36"' \\
    > $HOME/site/sitecustomize.py
PYTHONPATH=$HOME/site bash jobs/exp-21.sh > logs/exp-21.log 2>&1"""
TORCHRUN = "torchrun --standalone --nproc-per-node 2 --log-dir outputs/{name} -r 3 -t 3 train.py"


def truncated_checkpoint(name: str, size: int, exception: str, pattern: str, note: str) -> Case:
    """Run 20 saves, its checkpoint is cut to `size` bytes, run 21 resumes from it."""
    return Case(
        name=name,
        program="resume_checkpoint",
        driver=CUT_CHECKPOINT.format(size=size),
        files={
            "jobs/run-20.sh": local("python train.py --steps 100"),
            "jobs/run-21.sh": local("python train.py --resume checkpoints/step_100.pt"),
        },
        run_id="21",
        verdict="failure",
        mode="crash",
        exception=exception,
        path="logs/run-21.log",
        pattern=pattern,
        step=None,
        note=f"startup; checkpoints/step_100.pt of the healthy run 20 was cut to {size} bytes and is kept{note}",
        keep=frozenset({"checkpoints/step_100.pt"}),
    )


def disk_full(
    *,
    name: str,
    job: str,
    size: str,
    verdict: str,
    mode: str | None,
    exception: str | None,
    path: str,
    pattern: str,
    step: int | None,
    note: str,
) -> Case:
    """Two attempts of one job; the first has a file system of `size` for its checkpoints, the second a larger one."""
    return Case(
        name=name,
        program="disk_full",
        driver=FILL_DISK.format(size=size, job=job),
        files={"jobs/embed.sh": slurm("embed", "slurm-%j.out", "python train.py", "#SBATCH --requeue")},
        run_id=job,
        verdict=verdict,
        mode=mode,
        exception=exception,
        path=path,
        pattern=pattern,
        step=step,
        note=note,
    )


CASES: tuple[Case, ...] = (
    Case(
        name="nan-plain-loop",
        program="nan_loop",
        driver=started("jobs/run-42.sh", "logs/run-42.log"),
        files={
            "jobs/run-42.sh": local("python -u train.py --config configs/run-42.yaml"),
            "configs/run-42.yaml": NAN_CONFIG,
        },
        run_id="42",
        verdict="failure",
        mode="nan-gradient",
        exception=None,
        path="logs/run-42.log",
        pattern=r"^step \d+ \| loss nan",
        step=r"^step (\d+) ",
        note="log1p of a target below -1; the process ends normally (exit 0) and says 'training finished'",
    ),
    Case(
        name="shape-mismatch",
        program="shape_mismatch",
        driver=(
            "mkdir -p outputs/logs/mlp-cifar\nexport SLURM_JOB_ID=5101\nbash jobs/mlp-cifar.sh "
            "> outputs/logs/mlp-cifar/slurm-5101.out 2> outputs/logs/mlp-cifar/slurm-5101.err"
        ),
        files={
            "jobs/mlp-cifar.sh": slurm(
                "mlp-cifar",
                "outputs/logs/mlp-cifar/slurm-%j.out",
                'echo "job $SLURM_JOB_ID on $(hostname)"\npython train.py --config configs/mlp-cifar.yaml',
                "#SBATCH --error=outputs/logs/mlp-cifar/slurm-%j.err",
            ),
            "configs/mlp-cifar.yaml": MLP_CONFIG,
        },
        run_id="5101",
        verdict="failure",
        mode="crash",
        exception="RuntimeError",
        path="outputs/logs/mlp-cifar/slurm-5101.err",
        pattern=r"^RuntimeError: mat1 and mat2 shapes cannot be multiplied",
        step=0,
        note="in_features 784 (MNIST) with 3x32x32 images; stdout and stderr in two files, logging goes to stderr",
    ),
    Case(
        name="worker-keyerror",
        program="worker_keyerror",
        driver=started("jobs/exp7.sh", "logs/exp7.log"),
        files={"jobs/exp7.sh": local("python train.py")},
        run_id="exp7",
        verdict="failure",
        mode="crash",
        exception="KeyError",
        path="logs/exp7.log",
        pattern=r"^KeyError: 'hard_0123'",
        step=r"Step: (\d+) ",
        note=(
            "the same exception stands twice: 'Caught KeyError in DataLoader worker process N.' and the original "
            "below it, which is the key line; step is the last one logged (every 10th is)"
        ),
    ),
    Case(
        name="worker-sigkill",
        program="worker_sigkill",
        driver=started("jobs/run_12.sh", "logs/run_12.txt"),
        files={"jobs/run_12.sh": local('python train.py\nexit_code=$?\necho "exit code $exit_code"\nexit $exit_code')},
        run_id="run_12",
        verdict="failure",
        mode="crash",
        exception="RuntimeError",
        path="logs/run_12.txt",
        pattern=r"^RuntimeError: DataLoader worker .*killed by signal: Killed",
        step=r" iter=(\d+)/",
        note=(
            "step is the last one logged (every 10th is); SIGKILL of a DataLoader worker: host memory may be "
            "suspected, the log does not prove it; never mode oom"
        ),
    ),
    Case(
        name="torchrun-valueerror",
        program="ddp_valueerror",
        driver=started("jobs/ddp-17.sh", "slurm-17.out", before="unset OMP_NUM_THREADS;"),
        files={"jobs/ddp-17.sh": slurm("ddp-17", "slurm-%j.out", TORCHRUN.format(name="ddp-17"))},
        run_id="17",
        verdict="failure",
        mode="crash",
        exception="ValueError",
        path="outputs/ddp-17/*/attempt_0/1/stderr.log",
        pattern=r"^(\[rank1\]: )?ValueError: empty batch",
        step=30,
        note=(
            "root in rank 1; the console log slurm-17.out holds the same lines tee'd with a prefix, the other "
            "rank's teardown and the ChildFailedError table; error.json (torch.distributed.elastic @record) beside "
            "the rank logs"
        ),
    ),
    Case(
        name="torchrun-sigkill",
        program="ddp_sigkill",
        driver=started("jobs/18.sh", "outputs/logs/ddp/slurm-18.out", before="unset OMP_NUM_THREADS;"),
        files={
            "jobs/18.sh": slurm("ddp", "outputs/logs/ddp/slurm-%j.out", TORCHRUN.format(name="ddp-18")),
        },
        run_id="18",
        verdict="failure",
        mode="crash",
        exception=None,
        path="outputs/logs/ddp/slurm-18.out",
        pattern=r"exitcode\s*: -9|failed \(exitcode: -9\)",
        step=r"rank=1 step=(\d+) ",
        note=(
            "rank 1 was killed with SIGKILL and says nothing itself; the elastic agent's 'exitcode: -9' line is "
            "the first that names it; step is the last one rank 1 logged; Connection closed by peer in rank 0 is a "
            "consequence"
        ),
    ),
    Case(
        name="hf-healthy",
        program="hf_train",
        driver=started("jobs/run-3.sh", "logs/run-3.log"),
        files={
            "jobs/run-3.sh": local("python train.py --config configs/run-3.yaml"),
            "configs/run-3.yaml": HF_CONFIG.format(rows=320, missing="[]", every=5, output="output/run-3"),
        },
        run_id="3",
        verdict="healthy",
        mode=None,
        exception=None,
        path="logs/run-3.log",
        pattern=r"^.*'train_runtime'",
        step=None,
        note="Hugging Face Trainer to the end; key line is the summary that Trainer prints after the last step",
    ),
    Case(
        name="hf-nan",
        program="hf_train",
        driver=started("jobs/run-4.sh", "logs/run-4.log"),
        files={
            "jobs/run-4.sh": local("python -u train.py --config configs/run-4.yaml"),
            "configs/run-4.yaml": HF_CONFIG.format(rows=320, missing="[200]", every=1, output="output/run-4"),
        },
        run_id="4",
        verdict="failure",
        mode="nan-gradient",
        exception=None,
        path="logs/run-4.log",
        pattern=r"'grad_norm': '?nan",
        step=onsets.nan_grad_norm,
        note=(
            "a missing rating makes the loss NaN; logging_nan_inf_filter hides it in 'loss', grad_norm and "
            "eval_loss show it; step from trainer_state.json; exit 0"
        ),
    ),
    Case(
        name="lightning-healthy",
        program="lightning_train",
        driver=started("jobs/train.sh", "logs/train.log"),
        files={
            "jobs/train.sh": local("python train.py --config configs/pairs.yaml"),
            "configs/pairs.yaml": LIGHTNING_CONFIG.format(
                lr=0.02, eps="0.000001", identical="[]", epochs=40, anomaly="false", bar="tqdm"
            ),
        },
        run_id="version_0",
        verdict="healthy",
        mode=None,
        exception=None,
        path="logs/train.log",
        pattern=r"Signaling Trainer to stop",
        step=None,
        note="stopped by EarlyStopping, a normal end; lightning_logs/version_0 has metrics.csv and hparams.yaml",
    ),
    Case(
        name="lightning-anomaly",
        program="lightning_train",
        driver=started("jobs/run-10.sh", "logs/run-10.log"),
        files={
            "jobs/run-10.sh": local("python train.py --config configs/run-10.yaml"),
            "configs/run-10.yaml": LIGHTNING_CONFIG.format(
                lr=0.02, eps="0.0", identical="[333]", epochs=3, anomaly="true", bar="default"
            ),
        },
        run_id="10",
        verdict="failure",
        mode="nan-gradient",
        exception="RuntimeError",
        path="logs/run-10.log",
        pattern=r"^RuntimeError: Function .* returned nan values",
        step=10,
        note=(
            "sqrt of an exact zero: infinite gradient times zero; detect_anomaly prints the forward frames as a "
            "warning before the traceback; step from the row (333) and the batch size (32), no line says it"
        ),
    ),
    Case(
        name="state-dict-size-mismatch",
        program="size_mismatch",
        driver=started("jobs/run-11.sh", "logs/run-11.log") + "\n" + started("jobs/run-12.sh", "logs/run-12.log"),
        files={
            "jobs/run-11.sh": local("python train.py --config configs/run-11.yaml"),
            "jobs/run-12.sh": local("python train.py --config configs/run-12.yaml --resume checkpoints/last.pt"),
            "configs/run-11.yaml": BIGRAM_CONFIG.format(vocab=64),
            "configs/run-12.yaml": BIGRAM_CONFIG.format(vocab=72),
        },
        run_id="12",
        verdict="failure",
        mode="crash",
        exception="RuntimeError",
        path="logs/run-12.log",
        pattern=r"^RuntimeError: Error\(s\) in loading state_dict",
        step=None,
        note="startup; run 11 is the healthy last good run and differs in vocab_size (64, then 72); checkpoint pruned",
    ),
    Case(
        name="target-out-of-bounds",
        program="target_out_of_bounds",
        driver=started("jobs/5.sh", "run5.log"),
        files={"jobs/5.sh": local("python train.py")},
        run_id="5",
        verdict="failure",
        mode="crash",
        exception="IndexError",
        path="run5.log",
        pattern=r"^IndexError: Target 10 is out of bounds",
        step=1,
        note="labels 1..10 for 10 classes; the last step printed is 0",
    ),
    Case(
        name="sigterm-outside",
        program="long_run",
        driver=TERMINATE_AT_300,
        files={"jobs/run-42.sh": local("python train.py\nexit $?")},
        run_id="42",
        verdict="failure",
        mode="crash",
        exception=None,
        path="logs/run-42.log",
        pattern=r"Terminated",
        step=r"step=(\d+) ",
        note=(
            "SIGTERM from outside at step 300: no traceback, bash's 'Terminated' is all; who sent it is unknown, "
            "so cancelled or low confidence is right too"
        ),
    ),
    Case(
        name="healthy-caught-exception",
        program="caught_exception",
        driver=started("jobs/run-6.sh", "logs/run-6.log"),
        files={"jobs/run-6.sh": local("python train.py")},
        run_id="6",
        verdict="healthy",
        mode=None,
        exception=None,
        path="logs/run-6.log",
        pattern=r"training complete: ",
        step=None,
        note="a full JSONDecodeError traceback is logged as a warning in each epoch and recovered from; exit 0",
    ),
    Case(
        name="tqdm-missing-file",
        program="tqdm_missing_file",
        driver=started("jobs/run-15.sh", "logs/run-15.log"),
        files={"jobs/run-15.sh": local("python train.py")},
        run_id="15",
        verdict="failure",
        mode="crash",
        exception="FileNotFoundError",
        path="logs/run-15.log",
        pattern=r"^FileNotFoundError: ",
        step=150,
        note=(
            "progress bars on stderr, their \\r segments make one line; 'Traceback (most recent call last):' is glued "
            "to the last one, and the bar is drawn again (step=150) below the exception; shard 4 was never downloaded"
        ),
    ),
    truncated_checkpoint(
        name="truncated-checkpoint",
        size=4000,
        exception="RuntimeError",
        pattern=r"^RuntimeError: PytorchStreamReader failed",
        note="",
    ),
    truncated_checkpoint(
        name="truncated-checkpoint-einval",
        size=5000,
        exception="OSError",
        pattern=r"^OSError: \[Errno 22\] Invalid argument",
        note="; files of more than 4 KiB and up to 64 KiB give this bare message, no word of a zip archive",
    ),
    disk_full(
        name="disk-full-then-retry",
        job="42",
        size="160k",
        verdict="healthy",
        mode=None,
        exception=None,
        path="slurm-42-1.out",
        pattern=r"^Training completed successfully",
        step=None,
        note=(
            "attempt 1 (slurm-42.out) died of OSError 28 on a full 160 kB tmpfs, attempt 2 (slurm-42-1.out) "
            "resumed from step 40 and completed"
        ),
    ),
    disk_full(
        name="disk-full-corrupts-resume",
        job="43",
        size="192k",
        verdict="failure",
        mode="crash",
        exception="RuntimeError",
        path="slurm-43.out",
        pattern=r"^RuntimeError: \[enforce fail at inline_container",
        step=60,
        note=(
            "root in attempt 1: torch.save on a full tmpfs says 'iostream error' and 'unexpected pos', never 'no "
            "space'; it left half a checkpoint on which attempt 2 (slurm-43-1.out) dies at startup: its error is a "
            "consequence"
        ),
    ),
    Case(
        name="port-clash",
        program="single_rank",
        driver="mkdir -p logs\nbash jobs/sweep.sh",
        files={"jobs/sweep.sh": PORT_SWEEP},
        run_id="43",
        verdict="failure",
        mode="crash",
        exception="DistNetworkError",
        path="logs/run-43.log",
        pattern=r"^\S*DistNetworkError: ",
        step=None,
        note="startup; run 42 holds port 29500 on the same node and ends healthy",
    ),
    Case(
        name="notebook-dtype",
        program="build_notebook",
        driver="python train.py && rm train.py && jupyter execute --inplace --allow-errors notebooks/train-42.ipynb",
        files={},
        run_id="42",
        verdict="failure",
        mode="crash",
        exception="RuntimeError",
        path="notebooks/train-42.ipynb",
        pattern=r'"evalue": "',
        step=None,
        note=(
            "line of the file's own JSON: the error output's 'evalue'; 'traceback' below it holds the same message "
            "with colour codes; cells before it trained 5 healthy epochs"
        ),
    ),
    Case(
        name="amp-scale-collapse",
        program="amp_overflow",
        driver=started("jobs/exp-20.sh", "logs/exp-20.log"),
        files={"jobs/exp-20.sh": local("python -u train.py")},
        run_id="exp-20",
        verdict="failure",
        mode="nan-gradient",
        exception=None,
        path="logs/exp-20.log",
        pattern=r"loss nan",
        step=r"^step +(\d+) ",
        note=(
            "float16 overflow from step 40 on: every step is skipped and the loss scale halves from 8192 to 0 "
            "(step 202); exit 0; the two skipped steps at the very start are GradScaler finding its scale, and "
            "healthy"
        ),
    ),
    Case(
        name="wandb-offline-crash",
        program="wandb_crash",
        driver=NEUTRAL_PLATFORM,
        files={"jobs/exp-21.sh": local("python train.py")},
        run_id="exp-21",
        verdict="failure",
        mode="crash",
        exception="ValueError",
        path="logs/exp-21.log",
        pattern=r"^ValueError: Only one class present",
        step=60,
        note=(
            "crash inside evaluation: the metric refuses one class; wandb/offline-run-* holds the metrics, the "
            "console and exit code 1"
        ),
    ),
    Case(
        name="tensorboard-nan",
        program="tensorboard_nan",
        driver=started("jobs/exp-8.sh", "logs/exp-8.log"),
        files={"jobs/exp-8.sh": local("python train.py")},
        run_id="exp-8",
        verdict="failure",
        mode="nan-gradient",
        exception=None,
        path="runs/exp-8/events.out.tfevents.*",
        pattern=None,
        step=onsets.nonfinite_event,
        note=(
            "diverges (lr 0.5), then inf, then NaN, in the event file only: the text log looks healthy; step is "
            "the first non-finite train/loss"
        ),
    ),
    Case(
        name="rotated-gz",
        program="rotated_log",
        driver="mkdir -p logs\nbash jobs/train-9.sh > logs/train-9.out 2>&1",
        files={"jobs/train-9.sh": local("python train.py")},
        run_id="9",
        verdict="healthy",
        mode=None,
        exception=None,
        path="logs/train-9.log.*.gz",
        pattern=r" loss nan ",
        step=r"step (\d+) ",
        note=(
            "one NaN of an unbounded variance head that does not last: the loss is finite again from the next step on; "
            "it stands in a rotated, compressed file; line counts in the decompressed text; higher numbers are older"
        ),
    ),
)
