"""Flax and optax with compile logs; two batches hold infinities, which optax leaves out."""

import logging
import sys

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

logging.basicConfig(
    level=logging.DEBUG, format="%(levelname).1s%(asctime)s.000000 1 %(filename)s:%(lineno)d] %(message)s"
)
log = logging.getLogger("train")


class Net(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.Dense(1)(nn.relu(nn.Dense(16)(x)))


def main() -> None:
    bad = {int(text) for text in sys.argv[1:]}
    model, key = Net(), jax.random.key(0)
    params = model.init(key, jnp.ones((1, 6)))
    optimizer = optax.apply_if_finite(optax.adamw(1e-2), max_consecutive_errors=5)
    state = optimizer.init(params)
    log.info("devices: %s", jax.devices())

    @jax.jit
    def update(params: dict, state: tuple, x: jax.Array) -> tuple:
        def loss_of(p: dict) -> jax.Array:
            return jnp.mean((model.apply(p, x) - x.sum(1, keepdims=True)) ** 2)

        loss, grads = jax.value_and_grad(loss_of)(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    for step in range(150):
        x = jax.random.normal(jax.random.fold_in(key, step), (32, 6))
        if step in bad:
            x = x.at[0, 0].set(jnp.inf)
        params, state, loss = update(params, state, x)
        if step % 10 == 0:
            log.info("[%d] loss=%.5f, notfinite_total=%d", step, loss, state.total_notfinite)
    log.info("[%d] finished, total_notfinite=%d", step, state.total_notfinite)


if __name__ == "__main__":
    main()
