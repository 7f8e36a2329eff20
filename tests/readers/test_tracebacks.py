"""Tracebacks as processes, ranks, workers and notebooks print them."""

from __future__ import annotations

import io

from experiment_debugger.readers.lines import Scan
from experiment_debugger.readers.timestamps import Clock
from experiment_debugger.readers.tracebacks import Traceback, TracebackReader

PLAIN = """step 1
Traceback (most recent call last):
  File "/proj/train.py", line 41, in <module>
    main()
  File "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1751, in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
KeyError: 'labels'
"""


def read(text: str) -> list[Traceback]:
    reader = TracebackReader()
    Scan([reader.literals]).run_stream(io.BytesIO(text.encode()), [reader], Clock())
    return reader.blocks


def test_the_deepest_own_frame_is_not_a_library_frame() -> None:
    (block,) = read(PLAIN)
    assert (block.first, block.last, block.exception, block.message) == (2, 7, "KeyError", "'labels'")
    assert block.user_frame is not None
    assert (block.user_frame.file, block.user_frame.line, block.user_frame.at) == ("/proj/train.py", 41, 3)


def test_ranks_that_interleave_are_kept_apart() -> None:
    text = (
        "[rank1]: Traceback (most recent call last):\n[rank0]: Traceback (most recent call last):\n"
        '[rank1]:   File "a.py", line 1, in f\n[rank0]:   File "b.py", line 2, in g\nother output\n'
        "[rank0]: ValueError: zero\n[rank1]: RuntimeError: one\n"
    )
    blocks = {block.rank: (block.exception, block.last) for block in read(text)}
    assert blocks == {1: ("RuntimeError", 7), 0: ("ValueError", 6)}


def test_a_chain_has_its_first_exception_as_root() -> None:
    text = (
        PLAIN
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + PLAIN.replace("KeyError: 'labels'", "RuntimeError: batch 3")
    )
    first, second = read(text)
    assert second.cause is first
    assert first.wrapped_by is second
    assert second.root.exception == "KeyError"


def test_the_original_traceback_of_a_worker_is_the_root() -> None:
    text = PLAIN.replace("KeyError: 'labels'", "OSError: Caught OSError in DataLoader worker process 1.") + (
        'Original Traceback (most recent call last):\n  File "/proj/data.py", line 9, in __getitem__\n'
        "OSError: image file is truncated (43 bytes not processed)\n"
    )
    outer, inner = read(text)
    assert outer.root is inner
    assert inner.last == 10


def test_a_spawned_process_reports_its_root_behind_the_wrapper() -> None:
    text = PLAIN.replace("KeyError: 'labels'", "torch.multiprocessing.spawn.ProcessRaisedException: ") + (
        "\n-- Process 0 terminated with the following error:\n" + PLAIN.partition("\n")[2]
    )
    outer, inner = read(text)
    assert outer.root is inner


def test_what_python_ignored_is_marked() -> None:
    (block,) = read("Exception ignored in: <function F.__del__ at 0x7f>\n" + PLAIN.partition("\n")[2])
    assert block.ignored


def test_a_block_without_an_exception_line_is_dropped() -> None:
    assert read('Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n') == []


def test_exceptions_with_dotted_names_are_read() -> None:
    (block,) = read(PLAIN.replace("KeyError: 'labels'", "torch.cuda.OutOfMemoryError: CUDA out of memory."))
    assert block.exception == "torch.cuda.OutOfMemoryError"
