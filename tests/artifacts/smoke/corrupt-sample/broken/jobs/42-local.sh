#!/usr/bin/env bash
set -euo pipefail

python -u -m textures.train --data data/images --out outputs/42 --workers 2
