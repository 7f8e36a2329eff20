"""The way in: Python imports a module of this name at its start, and here it finds ours first.

It loads the agent by its place, leaves sys.path, and steps aside for the user's own sitecustomize. An agent that cannot
be loaded costs one line on stderr. Also Python 2 may pass here: nothing below is newer than that.
"""

import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
AGENT = "_experiment_debugger_probe"
MYSELF = sys.modules.pop(__name__, None)  # kept alive: Python 2 empties a module that nothing refers to

sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != FOLDER]
sys.path_importer_cache.pop(FOLDER, None)

if os.environ.get("EXPERIMENT_DEBUGGER_PROBE") and sys.version_info >= (3, 8):
    try:
        import importlib.util

        PLACE = os.path.join(os.path.dirname(FOLDER), "inside")
        SPEC = importlib.util.spec_from_file_location(AGENT, os.path.join(PLACE, "__init__.py"))
        sys.modules[AGENT] = importlib.util.module_from_spec(SPEC)  # type: ignore[arg-type]
        SPEC.loader.exec_module(sys.modules[AGENT])  # type: ignore[union-attr]
        sys.modules[AGENT].start(os.environ)
    except Exception as error:
        sys.stderr.write("experiment-debugger: the probe could not be loaded: %r\n" % (error,))

# The next one of this name. Where there is none, this fails as it would without us, and `site` goes on silently.
import sitecustomize  # type: ignore[import-not-found]
