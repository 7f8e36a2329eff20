"""Checkpoints read without executing anything: what they hold, how far they are, what is missing or damaged."""
