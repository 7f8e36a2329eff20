"""Local folders of Weights & Biases, offline and synced, read without network, key or the package."""
