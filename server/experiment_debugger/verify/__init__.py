"""From a run and a wish to a smoke test: what will be started, what became of it, and what that proves."""
