#!/usr/bin/env bash
# -I: no PYTHONPATH, no user site, no folder of the script on the path
set -euo pipefail

python -I trains-silently.py
