"""Run a driver script where nothing tells on this machine: own host name, paths, home and network.

Needs root and util-linux: `unshare` gives the case its own mount, UTS and network namespace, so that several cases can
stand at /workspace/proj at once, a file system can fill up, a port can clash, and nothing reaches the network.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOST, ADDRESS = "node01", "10.0.0.11"
WORKSPACE = Path("/workspace/proj")
VENV = Path("/opt/venv")
ENVIRONMENT = {
    "PATH": f"{VENV}/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    "HOME": "/home/user",
    "USER": "user",
    "LOGNAME": "user",
    "LANG": "C.UTF-8",
    "TMPDIR": "/home/user/tmp",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
# $1 project, $2 folder with hosts and pyvenv.cfg, $3 base of the interpreter, $4 driver. The standard library is shown
# at /usr/local/lib/python3.11, where the usual container images have it.
PRELUDE = f"""
set -e
hostname {HOST}
ip link set lo up
ip address add {ADDRESS}/24 dev lo
mount --bind "$1" {WORKSPACE}
mount --bind "$2/hosts" /etc/hosts
mount --bind "$2/pyvenv.cfg" {VENV}/pyvenv.cfg
mount --bind "$3" /usr/local
mount -t tmpfs home /home
mkdir -p {ENVIRONMENT["HOME"]} {ENVIRONMENT["TMPDIR"]}
cd {WORKSPACE}
exec env -i {" ".join(f"{key}={value}" for key, value in ENVIRONMENT.items())} bash -c "$4"
"""


@contextmanager
def workspace() -> Iterator[Path]:
    """Make the mount point and the files that are mounted over system ones; take them away afterwards."""
    WORKSPACE.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="artifacts-") as folder:
        overlay = Path(folder)
        (overlay / "hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} {HOST}\n", encoding="utf-8")
        config = f"home = /usr/local/bin\ninclude-system-site-packages = false\nversion = {sys.version.split()[0]}\n"
        (overlay / "pyvenv.cfg").write_text(config, encoding="utf-8")
        try:
            yield overlay
        finally:
            WORKSPACE.rmdir()
            WORKSPACE.parent.rmdir()


def run_driver(project: Path, overlay: Path, driver: str, timeout: float = 120) -> int:
    """Run `driver` with bash in a fresh sandbox in which `project` stands at /workspace/proj."""
    arguments = [str(project), str(overlay), sys.base_prefix, driver]
    command = ["unshare", "--mount", "--uts", "--net", "bash", "-c", PRELUDE, "prelude", *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, timeout=timeout, check=False).returncode
