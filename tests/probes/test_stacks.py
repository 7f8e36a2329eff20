"""Shortly before the wall clock ends, every thread says where it is."""

from __future__ import annotations

import time

from probes.programs import MLP, Programs

HANGS = """\
import threading, time
def load_batch(): time.sleep(2.5)
thread = threading.Thread(target=load_batch)
thread.start()
thread.join()
"""


def test_a_hang_leaves_the_stacks_of_all_threads(programs: Programs) -> None:
    ran = programs.run_script(HANGS, deadline=time.time() + 1)
    (stacks,) = programs.records.glob("stacks-*.txt")
    assert (ran.code, ran.err) == (0, "")
    assert stacks.name == f"stacks-{ran.processes[0][0]['pid']}.txt"
    assert "in load_batch" in stacks.read_text()
    assert "in join" in stacks.read_text()


def test_a_program_that_ends_in_time_leaves_none(programs: Programs) -> None:
    ran = programs.run_script("print('done')", deadline=time.time() + 100)
    assert ran.out == "done\n"
    assert not list(programs.records.glob("stacks-*"))


def test_a_user_who_sets_the_timer_keeps_it(programs: Programs) -> None:
    ran = programs.run_script(
        "import faulthandler, time\nfaulthandler.dump_traceback_later(0.2)\ntime.sleep(1.5)\n", deadline=time.time() + 1
    )
    assert "Timeout (0:00:00.200000)!" in ran.err
    assert not list(programs.records.glob("stacks-*"))


def test_a_forked_child_ends_and_its_parent_keeps_the_timer(programs: Programs) -> None:
    ran = programs.run_script(
        "import os, time\nif os.fork():\n    os.wait()\n    time.sleep(2)", deadline=time.time() + 2
    )
    (stacks,) = programs.records.glob("stacks-*.txt")
    assert ran.code == 0
    assert stacks.name == f"stacks-{ran.processes[0][0]['pid']}.txt"


def test_a_forked_rank_sets_its_own_timer(programs: Programs) -> None:
    ran = programs.run_script(
        MLP
        + """\
import glob, os, sys, time
if os.fork():
    os.wait()
else:
    step()
    while sum(os.path.getsize(path) > 0 for path in glob.glob("../records/stacks-*")) < 2:
        time.sleep(0.05)
""",
        deadline=time.time() + 6,
    )
    names = {f"stacks-{rows[0]['pid']}.txt" for rows in ran.processes}
    assert len(names) == 2
    assert {path.name for path in programs.records.glob("stacks-*.txt")} == names
