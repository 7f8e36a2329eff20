"""Where experiment trackers write: variables that they read themselves, all led into the folder of the test.

WANDB_DIR                 wandb: the parent of its `wandb` folder
MLFLOW_TRACKING_URI       mlflow: a file store; 3.17 wants MLFLOW_ALLOW_FILE_STORE, too (store/tracking/file_store.py)
TENSORBOARD_LOGGING_DIR   transformers 5: only where it is set (integrations/integration_utils.py); see `redirect`
COMET_OFFLINE_DIRECTORY   comet_ml; SWANLAB_LOG_DIR swanlab (their documentation of environment variables)

Ray Tune has none: TUNE_RESULT_DIR and RAY_AIR_LOCAL_CACHE_DIR raise in ray 2.60 (ray/tune/tune.py); its folders carry
the date. Lightning, Hydra and torch.utils.tensorboard write below the working folder.
"""

from __future__ import annotations

from pathlib import Path


def tracker_folders(folder: Path) -> dict[str, str]:
    """Environment that keeps trackers in the folder."""
    return {
        "WANDB_DIR": str(folder),
        "MLFLOW_TRACKING_URI": (folder / "mlruns").as_uri(),
        "MLFLOW_ALLOW_FILE_STORE": "true",
        "COMET_OFFLINE_DIRECTORY": str(folder / ".cometml-runs"),
        "SWANLAB_LOG_DIR": str(folder / "swanlog"),
    }
