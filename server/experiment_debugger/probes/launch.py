"""Loads the agent and runs the user's program, where options of the interpreter hide sitecustomize.

python -I <probes>/launch.py train.py --lr 1
python -E <probes>/launch.py -m pkg.train
"""

import importlib.util
import os
import sys
from typing import Any

AGENT = "_experiment_debugger_probe"
PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside")

spec: Any = importlib.util.spec_from_file_location(AGENT, os.path.join(PLACE, "__init__.py"))
agent = importlib.util.module_from_spec(spec)
sys.modules[AGENT] = agent
spec.loader.exec_module(agent)
agent.launch(os.environ, sys.argv[1:])
