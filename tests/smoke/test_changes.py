from __future__ import annotations

import os
import subprocess
import sys

import pytest

from experiment_debugger.errors import DebuggerError
from experiment_debugger.smoke.changes import Applied, applied, batch_of, largest_batch, parse_change
from experiment_debugger.smoke.isolations import QUARTER_BATCH
from experiment_debugger.smoke.order import Command

NAMES = ("fp32", "half-batch", "workers=0", "lr/10", "no-compile", "blocking", "one-process", "deterministic")
GIB = 1 << 30


def tried(change: str, argv: str, files: dict[str, str] | None = None) -> Applied:
    wanted = QUARTER_BATCH if change == QUARTER_BATCH.name else parse_change(change)
    return applied(wanted, Command(tuple(argv.split())), (files or {}).get)


@pytest.mark.parametrize("name", NAMES)
def test_every_change_says_what_it_isolates(name: str) -> None:
    change = parse_change(name)
    assert change.name == name
    assert len(change.about) > 10
    assert change.passed == ("nothing" if name == "blocking" else "for")


@pytest.mark.parametrize(
    "text", ["fp16", "", "workers", "workers=x", "workers=-1", "lr/2", "FP32", "half-batch ", "quarter-batch"]
)
def test_an_unknown_change_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(
        DebuggerError, match="fp32, half-batch, workers=N, lr/10, no-compile, blocking, one-process"
    ) as caught:
        parse_change(text)
    assert "\n" not in str(caught.value)
    assert "quarter-batch, " not in str(caught.value)


LINES = """
half-batch    python t.py --batch-size 64 --lr 1
          -> python t.py --batch-size 32 --lr 1
half-batch    python t.py --batch_size=65
          -> python t.py --batch_size=32
half-batch    python t.py train.batch_size=64 eval.num=2
          -> python t.py train.batch_size=32 eval.num=2
half-batch    python t.py -b 64 --eval_batch_size 128
          -> python t.py -b 32 --eval_batch_size 128
half-batch    python t.py --micro-batch-size 4 --global-batch-size 64
          -> python t.py --micro-batch-size 2 --global-batch-size 64
half-batch    python t.py --per_device_train_batch_size 8 --per_device_eval_batch_size 8
          -> python t.py --per_device_train_batch_size 4 --per_device_eval_batch_size 8
half-batch    yolo train batch=16 imgsz=640
          -> yolo train batch=8 imgsz=640
quarter-batch python t.py --batch-size 64
          -> python t.py --batch-size 16
workers=2     python t.py -j 8 --dataloader_num_workers 4
          -> python t.py -j 2 --dataloader_num_workers 2
workers=2     python t.py data.num_workers=8
          -> python t.py data.num_workers=2
lr/10         python t.py --lr 3e-4 --min_lr 1e-5
          -> python t.py --lr 3e-05 --min_lr 1e-5
lr/10         python t.py optim.learning_rate=0.1 lr0=1
          -> python t.py optim.learning_rate=0.01 lr0=0.1
fp32          python t.py --bf16 True --lr 1
          -> python t.py --bf16 False --lr 1
fp32          python t.py --amp --lr 1
          -> python t.py --lr 1
fp32          python t.py --amp data/x
          -> python t.py data/x
fp32          accelerate launch --mixed_precision bf16 t.py --fp16
          -> accelerate launch --mixed_precision no t.py
fp32          python t.py trainer.precision=16-mixed
          -> python t.py trainer.precision=32
fp32          python t.py --precision amp_bf16
          -> python t.py --precision fp32
fp32          python t.py --dtype=bfloat16
          -> python t.py --dtype=float32
one-process   torchrun --nproc_per_node=4 t.py --lr 1
          -> torchrun --nproc_per_node=1 t.py --lr 1
one-process   torchrun --nnodes 2 --nproc-per-node gpu --node_rank=1 --master_addr n1 t.py
          -> torchrun --nnodes 1 --nproc-per-node 1 t.py
one-process   python -m torch.distributed.run --nproc_per_node 4 -m pkg.t
          -> python -m torch.distributed.run --nproc_per_node 1 -m pkg.t
one-process   srun -n8 -N 2 torchrun --nproc_per_node 4 t.py
          -> srun --nodes 1 -n1 -N 1 torchrun --nproc_per_node 1 t.py
one-process   accelerate launch --multi_gpu --num_processes 8 t.py
          -> accelerate launch --num_machines 1 --num_processes 1 t.py
one-process   accelerate launch t.py
          -> accelerate launch --num_processes 1 --num_machines 1 t.py
one-process   deepspeed --include localhost:0,1 t.py --deepspeed z.json
          -> deepspeed --num_gpus 1 --num_nodes 1 t.py --deepspeed z.json
one-process   mpirun -np 8 -H a:4,b:4 python t.py
          -> mpirun -np 1 python t.py
one-process   horovodrun -np 4 python t.py
          -> horovodrun -np 1 python t.py
one-process   python t.py trainer.devices=8
          -> python t.py trainer.devices=1
"""


def edits() -> list[list[str]]:
    """Change, command, and the command that it becomes."""
    lines = [line.strip() for line in LINES.strip().split("\n")]
    pairs = zip(lines[::2], lines[1::2], strict=True)
    return [[*before.split(None, 1), after.removeprefix("-> ")] for before, after in pairs]


@pytest.mark.parametrize(("change", "argv", "expected"), edits())
def test_an_option_of_the_command_is_changed_and_nothing_else(change: str, argv: str, expected: str) -> None:
    made = tried(change, argv)
    assert made.command.argv == tuple(expected.split())
    assert made.inside == {}
    assert made.name == change
    assert made.says


def test_what_was_made_of_what_is_said() -> None:
    assert tried("half-batch", "python t.py --batch_size 64").says == "batch_size 64 -> 32 on the command line"
    assert tried("fp32", "python t.py --amp").says == "amp left out on the command line"
    assert tried("one-process", "torchrun --nproc_per_node=4 t.py").says == "torchrun: nproc_per_node 4 -> 1 process"


@pytest.mark.parametrize(
    ("change", "inside"),
    [
        ("fp32", {"fp32": True}),
        ("half-batch", {"batch_factor": 0.5}),
        ("quarter-batch", {"batch_factor": 0.25}),
        ("workers=2", {"workers": 2}),
        ("workers=0", {"workers": 0}),
        ("lr/10", {"lr_factor": 0.1}),
        ("deterministic", {"deterministic": True}),
    ],
)
def test_what_the_command_does_not_name_is_changed_inside_the_process(change: str, inside: dict[str, object]) -> None:
    made = tried(change, "bash jobs/42.sh")
    assert made.command.argv == ("bash", "jobs/42.sh")
    assert made.inside == inside


def test_no_workers_are_set_inside_where_other_arguments_of_the_loader_can_be_left_out() -> None:
    assert tried("workers=0", "python t.py --num_workers 4").inside == {"workers": 0}


def test_deterministic_kernels_need_the_workspace_of_cublas() -> None:
    assert tried("deterministic", "python t.py").environment == {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}


def test_a_batch_of_one_cannot_be_halved() -> None:
    with pytest.raises(DebuggerError, match="batch_size 1"):
        tried("half-batch", "python t.py --batch_size 1")


@pytest.mark.parametrize(
    "argv",
    ["python t.py", "bash jobs/42.sh", "torchrun t.py", "torchrun --nproc_per_node=1 t.py", "python t.py --devices 1"],
)
def test_one_process_is_refused_where_there_is_no_second_one(argv: str) -> None:
    with pytest.raises(DebuggerError, match="one-process"):
        tried("one-process", argv)


def test_one_process_sees_the_first_device() -> None:
    command = Command(("torchrun", "--nproc_per_node=2", "t.py"), environment={"CUDA_VISIBLE_DEVICES": "2,3"})
    assert applied(parse_change("one-process"), command, lambda _: None).environment == {"CUDA_VISIBLE_DEVICES": "2"}


def test_without_the_compiler_a_compiled_function_is_the_function() -> None:
    made = tried("no-compile", "python t.py")
    program = (
        "import torch, sys\n"
        "seen = []\n"
        "def backend(graph, inputs):\n    seen.append(1)\n    return graph.forward\n"
        "torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))\n"
        "print(len(seen))\n"
    )

    def compilations(extra: dict[str, str]) -> str:
        env = {**os.environ, **extra}
        return subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert compilations({}) == "1"
    for name, value in made.environment.items():
        assert compilations({name: value}) == "0"


def test_blocking_is_an_environment_variable() -> None:
    assert tried("blocking", "python t.py").environment == {"CUDA_LAUNCH_BLOCKING": "1"}


def test_two_batch_sizes_give_the_largest_that_fits() -> None:
    fit = largest_batch([(64, 9 * GIB), (32, 5 * GIB)], 24 * GIB)
    assert fit is not None
    assert fit.fixed == pytest.approx(GIB)
    assert fit.each == pytest.approx(GIB / 8)
    assert fit.largest == int((24 * 0.95 - 1) * 8)
    assert "1,024 MiB + 128.0 MiB a sample" in fit.sentence
    assert f"batch that fits is {fit.largest}" in fit.sentence


def test_more_points_are_fitted_by_least_squares() -> None:
    fit = largest_batch([(10, 110), (20, 190), (30, 310)], 10_000)
    assert fit is not None
    assert fit.each == pytest.approx(10)
    assert fit.fixed == pytest.approx(10 / 3)


@pytest.mark.parametrize(
    "points",
    [[], [(64, 100)], [(64, 100), (64, 90)], [(64, 100), (32, 100)], [(64, 100), (32, 120)], [(64, 100), (32, 10)]],
)
def test_memory_that_does_not_grow_with_the_batch_gives_no_fit(points: list[tuple[int, int]]) -> None:
    assert largest_batch(points, 1000) is None


def test_where_not_even_one_sample_fits_it_says_so() -> None:
    fit = largest_batch([(2, 1400), (1, 1200)], 1000)
    assert fit is not None
    assert fit.largest == 0
    assert "not even batch 1 fits" in fit.sentence


@pytest.mark.parametrize(
    ("argv", "files", "batch"),
    [
        ("python t.py --batch_size 64", {"c.yaml": "batch_size: 8\n"}, 64),
        ("python t.py --lr 1", {"c.yaml": "data: {batch_size: 8}\neval: {eval_batch_size: 2}\n"}, 8),
        ("python t.py", {"c.yaml": "batch_size: 8\n", "d.json": '{"batch_size": 16}'}, None),
        ("python t.py", {"c.yaml": "a: {batch_size: 8}\nb: {batch_size: 8}\n"}, 8),
        ("python t.py", {"c.yaml": "lr: 1\n"}, None),
        ("python t.py", {"c.yaml": "a: [1\n"}, None),
        ("bash c.sh", {"c.sh": "cd src && X=1 python t.py --batch_size 64\n"}, 64),
        ("bash c.sh", {"c.sh": "python t.py --batch_size 64\npython t.py --batch_size 32\n"}, None),
        ("bash c.sh", {"c.sh": "python t.py --config c.yaml\n", "c.yaml": "batch_size: 4\n"}, 4),
    ],
)
def test_the_batch_size_of_a_command(argv: str, files: dict[str, str], batch: int | None) -> None:
    assert batch_of(Command(tuple(argv.split()), files=tuple(files)), files.get) == batch
