"""Start a service in a session of its own, as metric agents and parameter servers do, train, and forget it."""

import os
import time


def daemonize(seconds: float) -> None:
    """Fork twice with a new session in between: the service's parent is init, and no group holds it."""
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    print(f"service runs as pid {os.getpid()}", flush=True)
    time.sleep(seconds)
    os._exit(0)


daemonize(seconds=120)
for step in range(1, 6):
    print(f"step {step} loss {1 / step:.4f}", flush=True)
    time.sleep(0.1)
