from __future__ import annotations

import pytest

from experiment_debugger.errors import DebuggerError
from experiment_debugger.smoke.command import appended_resume
from experiment_debugger.smoke.order import Command

CHECKPOINT = "/p/ckpt/step=300.pt"
ARGPARSE = 'import argparse\np = argparse.ArgumentParser()\np.add_argument("--resume", type=str, default=None)\n'


def resumed(argv: str, files: dict[str, str] | None = None, named: tuple[str, ...] = ()) -> list[str]:
    files = files or {}
    return list(appended_resume(Command(tuple(argv.split()), files=named), CHECKPOINT, files.get).argv)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("python train.py --resume old.pt --lr 1", "python train.py --resume {} --lr 1"),
        ("python train.py --resume-from=old.pt", "python train.py --resume-from={}"),
        (
            "torchrun --nproc_per_node=2 train.py --ckpt_path old.pt",
            "torchrun --nproc_per_node=2 train.py --ckpt_path {}",
        ),
        ("python train.py trainer.ckpt_path=old.pt", "python train.py trainer.ckpt_path={}"),
        ("megatron --load old --save new", "megatron --load {} --save new"),
        ("python train.py --checkpoint a.pt --resume b.pt", "python train.py --checkpoint a.pt --resume {}"),
    ],
)
def test_an_option_that_is_there_gets_the_checkpoint(argv: str, expected: str) -> None:
    assert resumed(argv) == expected.format(CHECKPOINT).split()


@pytest.mark.parametrize(
    ("source", "option"),
    [
        (ARGPARSE, "--resume"),
        ('@click.command()\n@click.option("--ckpt-path", "-c")\ndef main(ckpt_path): ...\n', "--ckpt-path"),
        ("import tyro\nclass Args:\n    load_from: str | None = None\ntyro.cli(Args)\n", "--load_from"),
        ("from transformers import HfArgumentParser\nx = args.resume_from_checkpoint\n", "--resume_from_checkpoint"),
        ('flags.DEFINE_string("restore_path", "", "")\nflags.DEFINE_string("restore", "", "")\n', "--restore"),
        ("from lightning.pytorch.cli import LightningCLI\nLightningCLI()\n", "--ckpt_path"),
    ],
)
def test_an_option_that_the_source_declares_is_appended(source: str, option: str) -> None:
    assert resumed("python train.py --lr 1", {"train.py": source})[-3:] == ["1", option, CHECKPOINT]


@pytest.mark.parametrize(
    "source",
    [
        "print(1)\n",
        'p.add_argument("--resume", action="store_true")\n',
        'p.add_argument("--resume", type=int)\n',
        '# p.add_argument("--resume")\n',
        "this is no Python",
    ],
)
def test_a_program_that_takes_no_checkpoint_is_refused(source: str) -> None:
    with pytest.raises(DebuggerError, match="--resume: expected an option"):
        resumed("python train.py --resume_now", {"train.py": source})


def test_a_switch_is_no_place_for_a_checkpoint() -> None:
    with pytest.raises(DebuggerError):
        resumed("python train.py --resume True")
    assert resumed("python train.py --resume", {"train.py": ARGPARSE})[-2:] == ["--resume", CHECKPOINT]


def test_a_config_key_is_overridden_where_the_program_takes_overrides() -> None:
    source = '@hydra.main(config_path="conf", config_name="base")\ndef main(cfg): ...\n'
    files = {"train.py": source, "conf/base.yaml": "trainer: {ckpt_path: null}\n"}
    assert resumed("python train.py", files)[-1] == f"trainer.ckpt_path='{CHECKPOINT}'"
    assert resumed("python train.py trainer.ckpt_path=old.pt", files)[-1] == f"trainer.ckpt_path='{CHECKPOINT}'"
    grouped = {"train.py": source, "conf/trainer/ddp.yaml": "resume_from: null\n"}
    assert resumed("python train.py", grouped, ("conf/trainer/ddp.yaml",))[-1].startswith("trainer.resume_from=")
    with pytest.raises(DebuggerError):
        resumed("python train.py", {**files, "train.py": "print(1)\n"})


def test_a_job_script_must_pass_its_arguments_on() -> None:
    files = {"jobs/42.sh": 'srun python train.py --lr 1 "$@"\n', "train.py": ARGPARSE}
    argv = "bash jobs/42.sh"
    assert resumed(argv, files, ("jobs/42.sh",)) == ["bash", "jobs/42.sh", "--resume", CHECKPOINT]
    files["jobs/42.sh"] = 'python train.py ckpt_path=old.pt "$@"\n'
    assert resumed(argv, files, ("jobs/42.sh",))[-1] == f"ckpt_path={CHECKPOINT}"
    with pytest.raises(DebuggerError, match="passes its arguments on"):
        resumed(argv, {**files, "jobs/42.sh": "python train.py\n"}, ("jobs/42.sh",))
