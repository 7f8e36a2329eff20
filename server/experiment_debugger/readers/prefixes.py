"""Which rank or node wrote a line that several processes share.

[rank3]: RuntimeError: ...          torchrun          3: loss 2.1             srun --label
[1,0]<stderr>:Traceback             mpirun            [default2]:step         torchrun with --tee
(WorkerDict pid=4102) ...           Ray               [rank: 2] Child ...     Lightning
trainer-1    | step 7000            docker compose    [pod/p-worker-0/c] ...  kubectl logs --prefix
"""

from __future__ import annotations

import re

_PREFIX = re.compile(
    r"""(?x)^(?:
        \[rank[ :]?\s*(?P<a>\d+)\]:?\ ?            # torch, Lightning
      | \[(?:default)(?P<b>\d+)\]:\ ?              # torchrun --tee
      | \[\d+,(?P<c>\d+)\]<std(?:err|out)>:?\ ?    # mpirun, horovodrun
      | (?P<d>\d{1,4}):\ +                         # srun --label
      | (?P<e>\([\w.]+\ pid=\d+(?:,\ ip=[\d.]+)?\))\ ?   # Ray
      | \[(?P<f>\d{1,4})\]:\ ?                     # deepspeed pdsh, parallel
      | (?P<g>[\w.-]+-\d+\ +\|)\ ?                 # docker compose
      | (?P<h>\[pod/[\w./-]+\])\ ?                 # kubectl logs --prefix
    )"""
)


def split_prefix(text: str) -> tuple[str, int | None, str]:
    """(prefix, rank, rest) of a line; the prefix is empty where the line has none. Prefixes may nest."""
    found = _PREFIX.match(text)
    if not found:
        return "", None, text
    digits = next((found.group(name) for name in "abcdf" if found.group(name) is not None), None)
    rank = None if digits is None else int(digits)
    if found.end() == len(text) or text[found.end()] not in "[(":
        return found.group(0), rank, text[found.end() :]
    inner, inner_rank, rest = split_prefix(text[found.end() :])
    return found.group(0) + inner, rank if inner_rank is None else inner_rank, rest
