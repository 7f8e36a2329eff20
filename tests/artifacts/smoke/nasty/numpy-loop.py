"""Logistic regression by hand: progress lines, no torch."""

import numpy as np

chance = np.random.default_rng(0)
inputs = chance.normal(size=(512, 8))
labels = (inputs.sum(axis=1) > 0).astype(float)
weights = np.zeros(8)
for step in range(1, 201):
    predicted = 1 / (1 + np.exp(-inputs @ weights))
    weights -= 0.5 * inputs.T @ (predicted - labels) / len(labels)
    if step % 10 == 0:
        loss = -np.mean(labels * np.log(predicted) + (1 - labels) * np.log(1 - predicted))
        print(f"step {step}/200 loss {loss:.4f}", flush=True)
np.save("weights.npy", weights)
print("Training finished")
