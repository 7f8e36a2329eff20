"""The table of healthy runs: how each is started and which of its lines look like a failure and are none."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from case import local, slurm

OTHER_VENV = """cp /opt/venv/pyvenv.cfg $HOME/pyvenv.cfg
mount --bind /opt/{venv} /opt/venv && mount --bind $HOME/pyvenv.cfg /opt/venv/pyvenv.cfg
"""
# The neutral platform name stands in for the kernel of this machine, which trackers record.
SETUP = """mkdir -p {folder} logs $HOME/scratch $HOME/site $HOME/bin
export TMPDIR=$HOME/scratch PYTHONPATH=$HOME/site COLUMNS=120
echo 'import platform; platform.platform = lambda *a, **k: "Linux-6.1.0-x86_64-with-glibc2.36"' \\
    > $HOME/site/sitecustomize.py
"""
TORCHRUN = "torchrun --standalone --nproc-per-node 2 {options} train.py"


@dataclass(frozen=True)
class Healthy:
    """One healthy run. `driver` is bash in the project's root; `log` is where both streams of `job` go."""

    name: str
    framework: str
    program: str
    run_id: str
    log: str
    job: str
    traps: tuple[str, ...]
    venv: str = "venv"
    env: str = ""  # exports before the job is started
    driver: str = ""  # instead of: start the job, both streams into its log
    files: Mapping[str, str] = field(default_factory=dict)
    gz: bool = False
    keep: frozenset[str] = frozenset()

    @property
    def job_path(self) -> str:
        return f"jobs/{self.run_id if '-' in self.run_id else f'run-{self.run_id}'}.sh"

    def script(self) -> str:
        folder = "." if self.driver else self.log.rpartition("/")[0] or "."
        venv = "" if self.venv == "venv" else OTHER_VENV.format(venv=self.venv)
        start = self.driver or "bash {job} > {log} 2>&1"
        return venv + SETUP.format(folder=folder) + f"{self.env}\n" + start.format(job=self.job_path, log=self.log)


REQUEUE_ONE_LOG = """bash {job} > {log} 2>&1 &
until grep -qs "step=100/" {log}; do sleep 0.05; done
pkill -USR1 -P $!
wait $!
SLURM_RESTART_COUNT=1 bash {job} >> {log} 2>&1"""
REQUEUE_TWO_LOGS = """bash {job} > logs/run-22-attempt1.log 2>&1 &
until grep -qs "step=140/" logs/run-22-attempt1.log; do sleep 0.05; done
pkill -TERM -P $!
wait $!
bash {job} > {log} 2>&1"""
# scontrol is a stand-in that says nothing: there is no Slurm here. After its signal Slurm sends SIGTERM.
LIGHTNING_REQUEUE = """printf '#!/bin/sh\\nexit 0\\n' > $HOME/bin/scontrol
chmod +x $HOME/bin/scontrol
export PATH=$HOME/bin:$PATH
bash {job} > {log} 2>&1 &
until [ "$(grep -c "recall per class" {log})" -gt 4 ]; do sleep 0.05; done
pkill -USR1 -P $!
sleep 2
pkill -TERM -P $!
wait $!
SLURM_RESTART_COUNT=1 bash {job} >> {log} 2>&1"""
COPY_WHILE_RUNNING = """bash {job} > $HOME/live.log 2>&1 &
until grep -qs "epoch 5 mean" $HOME/live.log; do sleep 0.05; done
sleep 0.1
cp $HOME/live.log {log}
pkill -KILL -P $!
wait $!"""
STATUS_NOTE = """- State: running
- Progress: epoch 5 / 50
- Resources: 2 CPUs, node01
- Latest metrics: loss is falling, no errors
- Last update: 2026-11-30T10:00:00Z
- Risk: none; log logs/run-31.log
"""
HELPERS = """python -m tensorboard.main --logdir runs --port 6006 > logs/tensorboard.txt 2>&1 &
BOARD=$!
sleep 900 &
WATCHDOG=$!
python train.py
kill -9 $WATCHDOG
kill $BOARD
wait
echo "job finished"
"""
NO_GPU_NODE = """module load cuda/12.4 || true
nvidia-smi || echo "no GPU on $(hostname), using the CPU"
ulimit -c 0
python train.py
echo "exit code: $?"
"""
RESTART = """until python train.py --mode resume --output output/exp-27 --stop-at 20; do
    echo "training exited with code $?, restarting from the last checkpoint"
done
echo "all attempts done"
"""
ALARMING_CONFIG = """run: oom_pa
seed: 0
epochs: 4
logging: {level: DEBUG, on_error: raise, max_errors: 0}
oom: {retry: false, max_split_size_mb: 128}
nan: {policy: raise, check_every: 100}
timeout: {nccl_s: 1800, dataloader_s: 0, kill_after_s: 3600}
early_stopping: {enabled: false, min_delta: .nan, best: .inf}
classes: [naan_bread, error_handler, killer_whale, oom_pa, nan, abort_mission, crash_cymbal, segfault_line, inf]
"""
YOLO_DATA = "path: /workspace/proj/data\ntrain: images/train\nval: images/val\nnames: {0: killer whale}\n"
ALLOW = "export MLFLOW_ALLOW_FILE_STORE=true"
NOTEBOOK = "python train.py && jupyter execute --inplace notebooks/train-52.ipynb"
SLURM_LIGHTNING = (
    "export SLURM_JOB_ID=3131 SLURM_JOB_NAME=pl SLURM_NTASKS=1 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 "
    "SLURM_NODELIST=node01 SLURM_JOB_NODELIST=node01 SLURM_NTASKS_PER_NODE=1"
)

PLAIN_TORCH: tuple[Healthy, ...] = (
    Healthy(
        "torch-overfit",
        "torch",
        "overfit",
        "7",
        "logs/run-7.log",
        local("python train.py --nan-policy skip --oom-retry --kill-stale-workers"),
        ("validation loss rises (overfitting)", "accuracy 0 at first", "Namespace with oom, nan, timeout, error"),
    ),
    Healthy(
        "torch-negative-dice",
        "torch",
        "nnunet_like",
        "8",
        "logs/run-8.log",
        local("python -u train.py"),
        ("losses below zero", "nan Dice of an absent class", "RuntimeWarning: invalid value encountered in divide"),
    ),
    Healthy(
        "torch-amp-recovers",
        "torch",
        "amp_recovers",
        "4101",
        "slurm-4101.out",
        slurm("amp", "slurm-%j.out", NO_GPU_NODE).replace("set -euo", "set -uo"),
        ("skipped steps of GradScaler", "grad_norm inf and nan at start", "module and nvidia-smi: command not found"),
        env="export SLURM_JOB_ID=4101",
    ),
    Healthy(
        "torch-noisy-warnings",
        "torch",
        "noisy_warnings",
        "exp-12",
        "logs/exp-12.log",
        local("python train.py"),
        ("too many DataLoader workers", "lr_scheduler before optimizer", "CUDA is not available", "deprecations"),
        env="export PYTHONWARNINGS=always PYTHONFAULTHANDLER=1",
    ),
    Healthy(
        "torch-requeued-sigusr1",
        "torch",
        "requeue",
        "812",
        "slurm-812.out",
        slurm("regress", "slurm-%j.out", "python train.py", "#SBATCH --requeue\n#SBATCH --signal=B:USR1@120"),
        ("SIGUSR1 and preemption in the first attempt", "no checkpoint found", "two attempts in one log"),
        env="export SLURM_JOB_ID=812",
        driver=REQUEUE_ONE_LOG,
    ),
    Healthy(
        "torch-requeued-sigterm",
        "torch",
        "requeue",
        "22",
        "logs/run-22-attempt2.log",
        local('python train.py --exit-code 143\ncode=$?\necho "exit code $code"\nexit $code'),
        ("SIGTERM", "exit code 143 of the first attempt", "the second attempt ends well"),
        driver=REQUEUE_TWO_LOGS,
    ),
    Healthy(
        "torch-caught-retried",
        "torch",
        "caught",
        "64",
        "logs/run-64.log",
        local("python train.py"),
        ("logged tracebacks that were retried or skipped", "ConnectionResetError", "chained exceptions"),
        driver="bash {job}",
    ),
    Healthy(
        "torch-flaky-server",
        "torch",
        "flaky_server",
        "run-23",
        "logs/run-23.log",
        local("python train.py"),
        ("urllib3 retries, RemoteDisconnected, 503", "DEBUG of matplotlib and asyncio", "word timeout"),
        env="export MPLCONFIGDIR=$HOME/mpl",
    ),
    Healthy(
        "torch-new-head",
        "torch",
        "new_head",
        "24",
        "logs/run-24.log",
        local("python train.py"),
        ("missing and unexpected keys at level ERROR", "traceback of a strict load that was caught", "ANSI colours"),
    ),
    Healthy(
        "torch-plateau",
        "torch",
        "plateau",
        "25",
        "logs/run-25.log",
        local("python -u train.py"),
        ("loss does not fall (chance level)", "early stopping"),
    ),
    Healthy(
        "torch-class-names",
        "torch",
        "class_names",
        "oom_pa",
        "logs/oom_pa.log",
        local("python train.py"),
        ("classes nan, inf, oom_pa, killer_whale, error_handler", "nan accuracy of a class without samples"),
        files={"configs/oom_pa.yaml": ALARMING_CONFIG},
    ),
    Healthy(
        "torch-still-running",
        "torch",
        "long_bar",
        "31",
        "logs/run-31.log",
        local("python train.py"),
        ("log ends in the middle of a progress bar", "status note says running"),
        driver=COPY_WHILE_RUNNING,
        files={"docs/ops/runs/31-status.md": STATUS_NOTE},
    ),
    Healthy(
        "torch-helpers-killed",
        "torch",
        "helper_killed",
        "55",
        "logs/run-55.log",
        local(HELPERS),
        ("a helper is killed by the job script: bash says Killed",),
    ),
    Healthy(
        "torch-corrupt-images",
        "torch",
        "corrupt_images",
        "56",
        "logs/run-56.log",
        local("python train.py"),
        ("corrupted images are left out", "UnidentifiedImageError, OSError in warnings"),
    ),
    Healthy(
        "torch-grad-accum-json",
        "torch",
        "grad_accum",
        "run-19",
        "logs/train_run-19.jsonl",
        local("python train.py"),
        ("large gradient norms before clipping", "NaN and null in JSON", "keys error, nan_count"),
        driver="bash {job} 2> logs/run-19.err",
    ),
    Healthy(
        "torch-leaked-memory",
        "torch",
        "leaked_memory",
        "57",
        "logs/run-57.log",
        local("python train.py"),
        ("resource_tracker: leaked shared_memory objects at shutdown",),
    ),
    Healthy(
        "torch-char-lm-errors",
        "torch",
        "char_lm",
        "58",
        "logs/run-58.log",
        local("python train.py"),
        ("generated and quoted text that reads like tracebacks",),
    ),
    Healthy(
        "torch-reinforce",
        "torch",
        "reinforce",
        "ppo-3",
        "logs/ppo-3.log",
        local("python train.py"),
        ("negative rewards and losses", "terminated, truncated, agent_killed", "stops at max kl"),
    ),
    Healthy(
        "torch-rich",
        "torch",
        "rich_progress",
        "59",
        "logs/run-59.log",
        local("python train.py"),
        ("rich traceback of an import that is optional", "columns errors, fatal", "cursor movements"),
    ),
    Healthy(
        "notebook-executed",
        "torch",
        "notebook",
        "52",
        "logs/execute-52.txt",
        local(NOTEBOOK),
        ("logged traceback without GPU in an output", "nan in a table", "warnings on stderr"),
    ),
)
TORCH_TOOLS: tuple[Healthy, ...] = (
    Healthy(
        "torchrun-cpp-info",
        "torchrun",
        "ddp",
        "71",
        "slurm-71.out",
        slurm("ddp", "slurm-%j.out", TORCHRUN.format(options="") + " --unused"),
        ("C++ logs at INFO of two ranks", "warning of the client socket"),
        env="unset OMP_NUM_THREADS; export TORCH_DISTRIBUTED_DEBUG=INFO TORCH_CPP_LOG_LEVEL=INFO",
    ),
    Healthy(
        "torchrun-env-dump",
        "torchrun",
        "ddp",
        "72",
        "outputs/ddp-72/console.log",
        local(TORCHRUN.format(options="--log-dir outputs/ddp-72 -r 3 -t 3") + " --env"),
        ("environment with NCCL timeouts and error handling", "peers_lost=0 timeouts=0", "logs of each rank"),
        env="export TORCH_NCCL_ASYNC_ERROR_HANDLING=1 NCCL_DEBUG=WARN TORCH_NCCL_BLOCKING_WAIT=0 "
        "TORCH_NCCL_DUMP_ON_TIMEOUT=1 TORCH_SHOW_CPP_STACKTRACES=1",
    ),
    Healthy(
        "torch-compile-dynamo",
        "torch.compile",
        "compiled",
        "73",
        "logs/run-73.log",
        local("python train.py"),
        ("recompiles, graph breaks with stacks", "mfu -100%"),
        env='export TORCH_LOGS="+dynamo,recompiles,graph_breaks"',
        gz=True,
    ),
    Healthy(
        "torch-compile-inductor",
        "torch.compile",
        "compiled",
        "74",
        "logs/run-74.log",
        local("python train.py --backend inductor"),
        ("inductor and perf_hints logs", "source text with assert and RuntimeError"),
        env='export TORCHINDUCTOR_COMPILE_THREADS=1 TORCH_LOGS="inductor,recompiles,perf_hints,graph_breaks"',
        gz=True,
    ),
    Healthy(
        "torch-profiler",
        "torch",
        "profiled",
        "75",
        "logs/run-75.log",
        local("python train.py"),
        ("anomaly detection warning", "wide tables"),
    ),
    Healthy(
        "lightning-versions",
        "lightning",
        "lightning_noisy",
        "version_3",
        "lightning_logs/version_3/train.txt",
        local("python train.py versions"),
        ("version_0 to version_2 are other short runs", "anomaly detection", "nan recall", "early stopping"),
        driver="bash {job} > $HOME/out.txt 2>&1; mv $HOME/out.txt {log}",
    ),
    Healthy(
        "lightning-tensorboard",
        "lightning",
        "lightning_noisy",
        "tb-14",
        "logs/tb-14.log",
        local("python train.py tb"),
        ("nan recall", "validation table", "PYTHONWARNINGS=always"),
        env="export PYTHONWARNINGS=always",
    ),
    Healthy(
        "lightning-ddp",
        "lightning",
        "lightning_noisy",
        "15",
        "logs/run-15.log",
        local("python train.py ddp"),
        ("two ranks, warning of the client socket",),
        env="export TORCH_DISTRIBUTED_DEBUG=INFO PL_GLOBAL_SEED=1",
    ),
    Healthy(
        "lightning-slurm-requeue",
        "lightning",
        "lightning_noisy",
        "3131",
        "slurm-3131.out",
        slurm("pl", "slurm-%j.out", "python -u train.py slurm", "#SBATCH --requeue\n#SBATCH --signal=SIGUSR1@90"),
        ("SIGUSR1, SIGTERM and requeue in the first attempt", "second attempt resumes and ends"),
        env=SLURM_LIGHTNING,
        driver=LIGHTNING_REQUEUE,
    ),
    Healthy(
        "hf-debug-new-head",
        "transformers",
        "hf_noisy",
        "26",
        "logs/run-26.log",
        local("python train.py --mode debug --output output/run-26"),
        ("newly initialized weights", "UNEXPECTED and MISSING keys", "config dumps"),
    ),
    Healthy(
        "hf-undefined-metrics",
        "transformers",
        "hf_noisy",
        "run_28",
        "logs/run_28.log",
        local("python train.py --mode metrics --output output/run_28"),
        ("UndefinedMetricWarning", "nan recall of an absent class"),
    ),
    Healthy(
        "hf-resumed",
        "transformers",
        "hf_noisy",
        "exp-27",
        "logs/exp-27.log",
        local(RESTART),
        ("first attempt ended by SIGTERM (exit code 143)", "restart from a checkpoint"),
    ),
    Healthy(
        "accelerate-launch",
        "accelerate",
        "accelerated",
        "ft-29",
        "logs/ft-29.log",
        local("accelerate launch --cpu train.py"),
        ("values that were not passed to accelerate launch", "DEBUG logs", "gradient accumulation"),
    ),
    *(
        Healthy(
            f"trl-{kind}",
            "trl",
            "trl_tiny",
            f"{kind}-{number}",
            f"logs/{kind}-{number}.log",
            local(f"python train.py {kind} output/{kind}-{number}"),
            traps,
        )
        for kind, number, traps in (
            ("sft", 34, ("warnings of LoRA and of special tokens", "text about errors and oom as data")),
            ("dpo", 35, ("loss starts at ln 2", "rewards below zero")),
            ("grpo", 36, ("loss 0 and negative rewards", "completions printed")),
        )
    ),
    Healthy(
        "deepspeed-cpu",
        "deepspeed",
        "deepspeed_cpu",
        "ds-33",
        "logs/ds-33.log",
        local("python train.py"),
        ("no accelerator found", "config dumps", "breakdown of times"),
        env="export RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=29511",
    ),
    Healthy(
        "timm-cuda-build",
        "timm",
        "timm_train",
        "38",
        "logs/run-38.log",
        local("python train.py"),
        ("GradScaler without CUDA: a CUDA build without a driver",),
        venv="venv-cuda",
    ),
    Healthy(
        "ultralytics-yolo",
        "ultralytics",
        "yolo",
        "train7",
        "runs/detect/train7/console.log",
        local("python train.py"),
        ("ignoring corrupt image/label", "mAP 0", "losses rise in two epochs"),
        venv="venv-cuda",
        env="export YOLO_CONFIG_DIR=$HOME/yolo YOLO_OFFLINE=True MPLCONFIGDIR=$HOME/mpl",
        driver="bash {job} > $HOME/out.txt 2>&1; mv $HOME/out.txt {log}",
        files={"data.yaml": YOLO_DATA},
    ),
)
OTHERS: tuple[Healthy, ...] = (
    Healthy(
        "keras-verbose1",
        "keras",
        "keras_fit",
        "81",
        "logs/run-81.log",
        local("python train.py 1"),
        ("input ran out of data", "oneDNN notices"),
        venv="venv-tf",
        env="export TF_CPP_MIN_LOG_LEVEL=0 TF_CPP_MAX_VLOG_LEVEL=0",
    ),
    Healthy(
        "keras-verbose2",
        "keras",
        "keras_fit",
        "82",
        "logs/run-82.log",
        local("python train.py 2"),
        ("early stopping restores weights", "labels are random: accuracy stays at chance"),
        venv="venv-tf",
        env="export TF_CPP_MIN_LOG_LEVEL=0",
    ),
    Healthy(
        "tf-custom-loop",
        "tensorflow",
        "tf_loop",
        "83",
        "logs/run-83.log",
        local("python train.py"),
        ("retracing warnings", "check numerics enabled", "nan of an empty group"),
        venv="venv-tf",
        env="export TF_CPP_MIN_LOG_LEVEL=0 TF_CPP_VMODULE=executor=0",
    ),
    Healthy(
        "jax-log-compiles",
        "jax",
        "jax_flax",
        "84",
        "logs/run-84.log",
        local("python train.py"),
        ("compile logs at WARNING", "backends that cannot be initialised"),
        venv="venv-tf",
        env="export JAX_LOG_COMPILES=1 JAX_DEBUG_NANS=1",
        gz=True,
    ),
    Healthy(
        "jax-apply-if-finite",
        "jax",
        "jax_flax",
        "85",
        "logs/run-85.log",
        local("python train.py 20 21 90"),
        ("three batches with infinities are left out: notfinite_total=3",),
        venv="venv-tf",
        env="export JAX_EXPLAIN_CACHE_MISSES=1",
        gz=True,
    ),
    Healthy(
        "sklearn-failed-fits",
        "scikit-learn",
        "sklearn_search",
        "91",
        "logs/run-91.log",
        local("python train.py"),
        ("FitFailedWarning with tracebacks, score nan by design", "ConvergenceWarning", "UndefinedMetricWarning"),
    ),
    Healthy(
        "xgboost-verbose",
        "xgboost",
        "xgb",
        "92",
        "logs/run-92.log",
        local("python train.py"),
        ("metric named error", "unused parameters", "warning about the model format"),
    ),
    Healthy(
        "lightgbm-no-gain",
        "lightgbm",
        "lgbm",
        "93",
        "logs/run-93.log",
        local("python train.py"),
        ("no further splits with positive gain, best gain: -inf",),
    ),
    Healthy(
        "ray-tune",
        "ray",
        "ray_tune",
        "tune-41",
        "logs/tune-41.log",
        local("python train.py"),
        ("trials TERMINATED early",),
        env="export RAY_AIR_NEW_OUTPUT=0 RAY_USAGE_STATS_ENABLED=0 RAY_DEDUP_LOGS=0",
    ),
    *(
        Healthy(
            name, framework, "tracked", run_id, f"logs/{run_id}.log", local(f"python train.py {kind}"), traps, env=ALLOW
        )
        for name, framework, kind, run_id, traps in (
            ("wandb-offline", "wandb", "wandb", "run-61", ("names like oom-study", "DEBUG of wandb", "nan metric")),
            ("mlflow-files", "mlflow", "mlflow", "run-62", ("names like error-study", "nan metric", "accuracy 0")),
            ("tensorboard-events", "tensorboard", "tb", "run-63", ("nan metric in events", "accuracy 0")),
        )
    ),
)
CASES = PLAIN_TORCH + TORCH_TOOLS + OTHERS
