"""Metrics are sent to a local server that fails at first; urllib3, matplotlib and asyncio log at DEBUG."""

import asyncio
import itertools
import logging
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import matplotlib as mpl
import requests
import torch
from requests.adapters import HTTPAdapter
from torch import nn
from urllib3.util.retry import Retry

mpl.use("Agg")
logging.basicConfig(level=logging.DEBUG, format="%(asctime)s,%(msecs)d %(name)s %(levelname)s %(message)s")
log = logging.getLogger("train")
COUNT = itertools.count()


class Flaky(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        number = next(COUNT)
        self.rfile.read(int(self.headers["Content-Length"]))
        if number in (1, 2, 6):
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        self.send_response(503 if number in (4, 8, 9) else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


async def flush() -> None:
    await asyncio.sleep(0)


def main() -> None:
    import matplotlib.pyplot as plt

    server = HTTPServer(("127.0.0.1", 0), Flaky)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    session = requests.Session()
    retry = Retry(total=5, backoff_factor=0.05, status_forcelist=[500, 502, 503, 504], allowed_methods=None)
    session.mount("http://", HTTPAdapter(max_retries=retry))
    torch.manual_seed(0)
    model, losses = nn.Linear(4, 1), []
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for step in range(20):
        x = torch.randn(64, 4)
        loss = nn.functional.mse_loss(model(x), x @ torch.tensor([[1.0], [2], [3], [4]]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        session.post(
            f"http://127.0.0.1:{server.server_port}/metrics", json={"step": step, "loss": loss.item()}, timeout=5
        )
        log.info("step: %d, loss: %.4f, timeout: 5", step, loss)
    asyncio.run(flush(), debug=True)
    plt.plot(losses)
    plt.title("loss")
    plt.savefig("loss.png")
    log.info("all metrics were delivered; exiting with code 0")


if __name__ == "__main__":
    main()
