"""Steps, losses and the stop, of real training."""

from __future__ import annotations

import sys
import time

import pytest
from probes.programs import MLP, PYTHON, Programs

from experiment_debugger.probes.inside.losses import Reading
from experiment_debugger.probes.inside.steps import Row, Thinning

FIVE = MLP + "losses = [step() for _ in range(5)]\nprint(losses)\n"


def test_each_step_has_its_loss_and_learning_rate_and_results_stay_the_same(programs: Programs) -> None:
    ran = programs.run_script(FIVE)
    alone = programs.run_alone("train.py")
    assert (ran.out, ran.err, alone.code) == (alone.out, alone.err, 0)
    assert str(ran.losses) == alone.out.strip()
    assert [(row["step"], row["lr"], row["rank"]) for row in ran.rows("step")] == [(n, 0.1, None) for n in range(1, 6)]
    assert [row["kind"] for row in ran.processes[0][:2]] == ["loaded", "torch"]
    assert ran.rows("exit")[0]["step"] == 5
    assert not ran.rows("memory")


def test_a_nonfinite_loss_is_recorded_with_its_step(programs: Programs) -> None:
    ran = programs.run_script(
        MLP
        + """\
for number in range(1, 31):
    step(float("inf") if number == 27 else 1.0)
loss = (model(torch.randn(4, 8)) * float("nan")).mean()
loss.backward()
"""
    )
    assert ran.losses[26:28] == ["inf", "nan"]
    assert [row["step"] for row in ran.rows("nonfinite")] == [27, 28, 29, 30, 31]


def test_two_optimizers_count_once_and_each_loss_has_the_step_of_its_own(programs: Programs) -> None:
    ran = programs.run_script(
        MLP
        + """\
other = torch.optim.Adam(model.parameters(), lr=0.01)
for number in range(1, 4):
    step()
    for _ in range(2):  # gradients of two micro-batches
        loss = model(torch.randn(4, 8)).mean() * (float("nan") if number == 2 else 0.0)
        loss.backward()
    other.step()
    other.zero_grad()
    if number == 2:
        break
"""
    )
    assert [row["step"] for row in ran.rows("step")] == [1, 2]
    assert [row["step"] for row in ran.rows("nonfinite")] == [2]


def test_a_step_within_a_step_counts_once_and_a_later_optimizer_goes_on(programs: Programs) -> None:
    ran = programs.run_script(
        MLP
        + """\
class Own(torch.optim.SGD):
    def step(self, closure=None): super().step(closure)
for _ in range(3): step()
optimizer = Own(model.parameters(), lr=0.01)
while True: step()
""",
        steps=6,
    )
    assert (ran.code, ran.err) == (0, "")
    assert [row["step"] for row in ran.rows("step")] == [1, 2, 3, 4, 5, 6]
    assert [row["lr"] for row in ran.rows("step")] == [0.1] * 3 + [0.01] * 3


def test_the_loss_before_a_gradient_scaler_counts_and_a_killed_program_lost_none(programs: Programs) -> None:
    ran = programs.run_script(
        MLP
        + """\
import os, signal
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for _ in range(3):
    optimizer.zero_grad()
    loss = ((model(torch.randn(4, 8)) - 1) ** 2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(loss.item(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    )
    assert [str(loss) for loss in ran.losses] == ran.out.split(), ran.err


def test_training_stops_after_the_wanted_step(programs: Programs) -> None:
    ran = programs.run_script(
        MLP
        + """\
try:
    for _ in range(100):
        step()
finally:
    print("cleaned up")
""",
        steps=3,
    )
    assert (ran.code, ran.out, ran.err) == (0, "cleaned up\n", "")
    assert [row["kind"] for row in ran.processes[0]] == ["loaded", "torch", *["step"] * 3, "stopped", "exit"]
    assert ran.rows("stopped") == [{"kind": "stopped", "step": 3}]


@pytest.mark.parametrize(
    "loop",
    [
        "while True:\n    try:\n        step()\n    except BaseException:\n        pass\n",
        "def work():\n    while True: step()\n"
        "import threading, time\nthreading.Thread(target=work).start()\ntime.sleep(100)\n",
    ],
    ids=["everything is caught", "another thread"],
)
def test_a_program_that_does_not_end_is_ended(programs: Programs, loop: str) -> None:
    ran = programs.run_script(MLP + "print('buffered')\n" + loop, steps=3)
    assert (ran.code, ran.out, ran.err) == (0, "buffered\n", "")
    assert [row["step"] for row in ran.rows("step")] == [1, 2, 3]
    assert len(ran.rows("stopped")) == len(ran.rows("exit")) == 1


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_dataloader_are_left_alone(programs: Programs, method: str) -> None:
    ran = programs.run_script(
        MLP
        + f"""\
import os
class Data(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, index): return torch.tensor(os.getpid())
if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(Data(), batch_size=8, num_workers=1, multiprocessing_context="{method}")
    workers = {{int(pid) for batch in loader for pid in batch}}
    step()
    assert len(workers) == 1 and os.getpid() not in workers
    print(*workers)
"""
    )
    assert ran.code == 0, ran.err
    workers = set(map(int, ran.out.split()))
    stepped = [rows[0]["pid"] for rows in ran.processes if any(row["kind"] == "step" for row in rows)]
    assert len(stepped) == 1
    assert not workers & set(stepped)
    loaded = {row["pid"] for row in ran.rows("loaded")}
    assert workers & loaded == (workers if method == "spawn" else set())


DDP = """\
import os, sys, torch, torch.distributed as dist, torch.multiprocessing as mp
def work(rank, world):
    dist.init_process_group("gloo", rank=rank, world_size=world, init_method=f"file://{os.getcwd()}/store")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        model(torch.full((1, 2), float(rank))).mean().backward()
        optimizer.step()
if __name__ == "__main__":
    mp.start_processes(work, args=(2,), nprocs=2, start_method=sys.argv[1])
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_ranks_that_a_program_starts_itself_stop_each(programs: Programs, method: str) -> None:
    ran = programs.run_script(DDP, method, steps=3, deadline=time.time() + 300)
    assert ran.code == 0, ran.err
    assert not list(programs.records.glob("stacks-*"))
    for rank in (0, 1):
        assert [row["step"] for row in ran.rows("step") if row["rank"] == rank] == [1, 2, 3]
    assert len(ran.rows("stopped")) == 2
    assert sorted(row["step"] for row in ran.rows("exit"))[-2:] == [3, 3]


def test_ranks_of_torchrun_stop_each(programs: Programs) -> None:
    text = (
        DDP.replace("mp.start_processes", "0 and mp.start_processes").replace(
            ', rank=rank, world_size=world, init_method=f"file://{os.getcwd()}/store"', ""
        )
        + "    work(int(os.environ['RANK']), 2)\n"
    )
    script = programs.write("train.py", text)
    ran = programs.run("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script, "x", steps=3)
    assert ran.code == 0, ran.err
    assert [row["rank"] for row in sorted(ran.rows("step"), key=lambda row: row["step"])].count(1) == 3
    assert len(ran.rows("stopped")) == 2
    assert len(ran.rows("loaded")) >= 3


@pytest.mark.parametrize("options", [["-E", "-s"], ["-IS"]])
def test_the_launcher_stops_training_as_well(programs: Programs, options: list[str]) -> None:
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    text = f"import sys\nsys.path.append({packages!r})\n" + MLP + "while True: step()\n"
    ran = programs.run(PYTHON, *options, programs.write("train.py", text), steps=2)
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.rows("stopped")) == 1


def test_older_torch_without_hooks_is_wrapped(programs: Programs) -> None:
    """What torch < 2.0 lacks is taken away before the agent sees it."""
    old = "import sys, torch.optim.optimizer as module\n"
    old += "del module.register_optimizer_step_post_hook, module.register_optimizer_step_pre_hook\n"
    own = programs.write("site/torch_is_old.py", old)
    text = MLP.replace(
        "import torch\n",
        """\
import importlib.util, sys
for finder in list(sys.meta_path):
    for callback in getattr(finder, "_waiting", {}).get("torch", []): ours = finder
ours._waiting["torch"].insert(0, lambda torch: __import__("torch_is_old"))
import torch
""",
    )
    ran = programs.run_script(
        text + "while True: step()\n",
        env={"PYTHONPATH": str(own.parent)},
        steps=3,
        changes={"lr_factor": 0.5},
    )
    assert (ran.code, ran.err) == (0, "")
    assert [row["lr"] for row in ran.rows("step")] == [0.05] * 3


def test_many_steps_make_few_rows() -> None:
    thinning = Thinning()
    steps = [
        row["step"] for number in range(1, 500_001) for row in thinning.kept(Row(number, None, Reading(0.1), None))
    ]
    latest = [row["step"] for row in thinning.latest()]
    assert steps[:500] == list(range(1, 501))
    assert 4000 < len(steps) < 6000
    assert (latest[-1], len(latest)) == (500_000, 20)
    assert latest[0] > steps[-1]
