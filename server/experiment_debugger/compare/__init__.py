"""What differs between two commits, and between two runs: settings, code, environment, curves, lines of logs."""
