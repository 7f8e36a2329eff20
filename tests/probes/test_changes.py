"""Each change takes effect and says so; one that finds nothing to change says nothing."""

from __future__ import annotations

import pytest
from probes.programs import MLP, Programs, Ran

DATA = MLP + "from torch.utils.data import BatchSampler, DataLoader, Dataset, TensorDataset\n"
DATA += "data = TensorDataset(torch.arange(64.0).reshape(8, 8))\n"


def changed(ran: Ran) -> list[tuple[str, str]]:
    assert (ran.code, ran.err) == (0, ""), ran.err
    return [(row["change"], row["says"]) for row in ran.rows("changed")]


def test_fp32_switches_autocast_and_gradient_scalers_off(programs: Programs) -> None:
    ran = programs.run_script(
        "import warnings; warnings.simplefilter('ignore')\n"
        + MLP
        + """\
def kinds():
    yield torch.autocast("cpu", dtype=torch.bfloat16)
    yield torch.amp.autocast("cpu", dtype=torch.bfloat16)
    yield torch.cpu.amp.autocast(dtype=torch.bfloat16)
for context in kinds():
    with context:
        print(model(torch.randn(4, 8)).dtype)
@torch.autocast("cpu", dtype=torch.bfloat16)
def decorated(): return model(torch.randn(4, 8))
print(decorated().dtype)
for scaler in (torch.amp.GradScaler("cpu"), torch.cuda.amp.GradScaler(), torch.cpu.amp.GradScaler()):
    print(scaler.is_enabled(), scaler.scale(torch.tensor(2.0)).item(), scaler.state_dict())
""",
        changes={"fp32": True},
    )
    assert ran.out.split("\n") == ["torch.float32"] * 4 + ["False 2.0 {}"] * 3 + [""]
    assert changed(ran) == [("fp32", "autocast off"), ("fp32", "gradient scaler off")]


def test_the_learning_rate_is_scaled_whatever_sets_it(programs: Programs) -> None:
    ran = programs.run_script(
        MLP
        + """\
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
for _ in range(3):
    step()
    print(optimizer.param_groups[0]["lr"])
    scheduler.step()
optimizer.param_groups[0]["lr"] = 0.5
step()
optimizer.load_state_dict(optimizer.state_dict())
step()
""",
        changes={"lr_factor": 0.1},
    )
    own = [float(line) for line in ran.out.split()]
    rates = [row["lr"] for row in ran.rows("step")]
    assert rates == pytest.approx([rate * 0.1 for rate in [*own, 0.5, 0.5]])
    assert changed(ran) == [("lr_factor", "learning rate 0.04 -> 0.004")]


def test_the_scaled_rate_is_the_one_that_trains(programs: Programs) -> None:
    """Also where an optimizer steps inside another one that shares its groups, and after a step that failed."""
    text = MLP + "optimizer = torch.optim.SGD(model.parameters(), lr={lr})\nstep(); step()\n{more}"
    text += "print([weight.sum().item() for weight in model.parameters()])\n"
    nested = """\
class Outer(torch.optim.Optimizer):
    def __init__(self, base):
        super().__init__(base.param_groups, {})
        self.base, self.param_groups = base, base.param_groups
    def step(self, closure=None): self.base.step()
try: optimizer.step(lambda: 1 / 0)
except ZeroDivisionError: pass
optimizer = Outer(optimizer)
step()
"""
    scaled = programs.run_script(text.format(lr=0.4, more=nested), changes={"lr_factor": 0.25})
    expected = programs.run_script(text.format(lr=0.1, more=nested))
    assert (scaled.code, scaled.err) == (0, "")
    assert scaled.out == expected.out


def test_batches_shrink_once(programs: Programs) -> None:
    ran = programs.run_script(
        DATA
        + """\
loader = DataLoader(data, batch_size=4, shuffle=True)
print(loader.batch_size, len(next(iter(loader))[0]), len(loader))
again = DataLoader(data, loader.batch_size, sampler=loader.sampler)  # as frameworks do it
print(again.batch_size, len(next(iter(again))[0]))
print(len(next(iter(DataLoader(data, batch_sampler=BatchSampler(range(8), 6, False))))[0]))
print(DataLoader(data).batch_size, DataLoader(data, batch_size=None).batch_size)
import pickle
print(type(pickle.loads(pickle.dumps(loader.batch_size))).__name__)
try: DataLoader(data, batchsize=3)
except TypeError as error: print(error)
""",
        changes={"batch_factor": 0.5},
    )
    assert ran.out.splitlines()[:5] == ["2 2 4", "2 2", "3", "1 None", "int"]
    assert "unexpected keyword argument 'batchsize'" in ran.out
    assert changed(ran) == [("batch_factor", "batch size 4 -> 2"), ("batch_factor", "batch size 6 -> 3")]
    assert [(row["before"], row["after"]) for row in ran.rows("changed")] == [(4, 2), (6, 3)]


WORKERS = (
    DATA
    + """\
import os
class Pids(Dataset):
    def __len__(self): return 8
    def __getitem__(self, index): return torch.tensor(os.getpid())
"""
)


def test_no_workers_and_determinism(programs: Programs) -> None:
    ran = programs.run_script(
        WORKERS
        + """\
loader = DataLoader(Pids(), num_workers=2, prefetch_factor=4, persistent_workers=True, timeout=10,
                    multiprocessing_context="fork")
print({int(batch) for batch in loader} == {os.getpid()})
print(torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled())
print(torch.backends.cudnn.benchmark, os.environ["CUBLAS_WORKSPACE_CONFIG"])
""",
        changes={"workers": 0, "deterministic": True},
    )
    assert ran.out == "True\nTrue False\nFalse :4096:8\n"
    assert changed(ran) == [
        ("deterministic", "deterministic algorithms on"),
        ("workers", "DataLoader workers 2 -> 0"),
    ]


def test_a_change_that_finds_nothing_says_nothing(programs: Programs) -> None:
    ran = programs.run_script(
        DATA + "step()\nfor _ in DataLoader(data): pass\n",
        changes={"fp32": True, "batch_factor": 0.5, "workers": 0, "deterministic": False},
    )
    assert changed(ran) == []
