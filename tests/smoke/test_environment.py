from __future__ import annotations

import pytest

from experiment_debugger.smoke.environment import is_secret, named_in, reduced

KEY = "a1b2c3d4" * 5


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN",
        "GH_TOKEN", "GITHUB_PAT", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "SSH_AUTH_SOCK",
        "AZURE_CLIENT_SECRET", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_KEY", "KUBECONFIG", "NETRC",
        "GOOGLE_APPLICATION_CREDENTIALS", "KAGGLE_KEY", "COMET_API_KEY", "NEPTUNE_API_TOKEN", "CLEARML_API_SECRET_KEY",
        "SLURM_JWT", "PGPASSWORD", "MYSQL_PWD", "DB_PASSWORD", "SSH_PRIVATE_KEY", "SLACK_WEBHOOK_URL", "SENTRY_DSN",
        "DOCKER_AUTH_CONFIG", "GIT_ASKPASS", "my_api_key", "SESSION_COOKIE", "VAULT_TOKEN", "ENCRYPTION_KEY",
    ],
)  # fmt: skip
def test_credentials_are_withheld_by_their_name(name: str) -> None:
    assert reduced({name: KEY, "PATH": "/bin"}, ()).withheld == (name,)
    assert name not in reduced({name: KEY}, ()).env


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/bin:/bin"), ("PWD", "/home/me"), ("OLDPWD", "/"), ("HOME", "/home/me"), ("LANG", "C.UTF-8"),
        ("CUDA_VISIBLE_DEVICES", "0,1"), ("CUDA_HOME", "/usr/local/cuda"), ("CONDA_PREFIX", "/opt/conda"),
        ("LD_LIBRARY_PATH", "/usr/lib"), ("LD_PRELOAD", "libx.so"), ("NCCL_DEBUG", "INFO"), ("SLURM_JOB_ID", "91"),
        ("TORCH_HOME", "/data/torch"), ("XDG_SESSION_ID", "c3"), ("TOKENIZERS_PARALLELISM", "false"),
        ("MAX_TOKENS", "4096"), ("TOKENS_PER_BATCH", "65536"), ("PAD_TOKEN", "<pad>"), ("NUM_KEYS", "8"),
        ("COMPASS", "north"), ("MASTER_ADDR", "node01"), ("HF_HOME", "/data/hf"), ("MONKEY", "banana"),
        ("AWS_REGION", "eu-west-1"), ("PYTHONPATH", "src"), ("DATABASE_URL", "sqlite:///runs.db"), ("AUTHOR", "me"),
        ("GIT_COMMIT", KEY),
    ],
)  # fmt: skip
def test_what_a_run_needs_is_kept(name: str, value: str) -> None:
    assert reduced({name: value}, ()).env[name] == value
    assert not is_secret(name, value)


def test_a_value_that_is_a_secret_is_withheld_whatever_its_name() -> None:
    secrets = {
        "DATABASE_URL": "postgres://me:hunter2@db/runs",
        "WHATEVER": "hf_" + "aB1" * 12,
        "ID": "AKIA" + "A1B2" * 4,
    }
    assert reduced(secrets, ()).withheld == ("DATABASE_URL", "ID", "WHATEVER")


def test_the_operator_can_let_a_variable_through() -> None:
    left = reduced({"HF_TOKEN": KEY, "WANDB_API_KEY": KEY}, ["HF_TOKEN"])
    assert left.env["HF_TOKEN"] == KEY
    assert left.withheld == ("WANDB_API_KEY",)


def test_trackers_stay_on_this_machine() -> None:
    env = reduced({"WANDB_MODE": "online", "TRACKIO_SPACE_ID": "me/x", "SWANLAB_MODE": "cloud"}, ()).env
    assert env["WANDB_MODE"] == "offline"
    assert env["NEPTUNE_MODE"] == "offline"
    assert env["CLEARML_OFFLINE_MODE"] == "1"
    assert env["COMET_START_ONLINE"] == "0"
    assert env["SWANLAB_MODE"] == "disabled"
    assert "TRACKIO_SPACE_ID" not in env


@pytest.mark.parametrize(
    ("name", "value"), [("WANDB_MODE", "disabled"), ("WANDB_MODE", "dryrun"), ("SWANLAB_MODE", "local")]
)
def test_what_keeps_a_tracker_here_already_is_left(name: str, value: str) -> None:
    assert reduced({name: value}, ()).env[name] == value


def test_output_comes_at_once_and_nothing_of_ours_is_inherited() -> None:
    env = reduced({"EXPERIMENT_DEBUGGER_ALLOW_RUN": "1", "EXPERIMENT_DEBUGGER_PROBE": "/x"}, ()).env
    assert env["PYTHONUNBUFFERED"] == env["PYTHONFAULTHANDLER"] == "1"
    assert not [name for name in env if name.startswith("EXPERIMENT_DEBUGGER")]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("KeyError: 'HF_TOKEN'", "HF_TOKEN"),
        ("jobs/42.sh: line 3: WANDB_API_KEY: unbound variable", "WANDB_API_KEY"),
        ("wandb.errors.errors.UsageError: No API key configured. Use `wandb login` to log in.", "WANDB_API_KEY"),
        ("wandb.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=...)", "WANDB_API_KEY"),
        ("401 Client Error. (Request ID: x)\n\nCannot access gated repo for url https://hf.co/x.", "HF_TOKEN"),
        ("401 Client Error. (Request ID: x)\n\nRepository Not Found for url: https://huggingface.co/x.", "HF_TOKEN"),
        ("botocore.exceptions.NoCredentialsError: Unable to locate credentials", "AWS_ACCESS_KEY_ID"),
        ("DefaultCredentialsError: Your default credentials were not found.", "GOOGLE_APPLICATION_CREDENTIALS"),
        ("git@github.com: Permission denied (publickey).", "SSH_AUTH_SOCK"),
    ],
)  # fmt: skip
def test_a_failure_of_a_withheld_variable_names_it(text: str, name: str) -> None:
    withheld = (
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "HF_TOKEN", "SSH_AUTH_SOCK",
        "WANDB_API_KEY",
    )  # fmt: skip
    assert named_in(text, withheld) == name
    assert named_in(text, ("OTHER_TOKEN",)) is None


@pytest.mark.parametrize(
    "text",
    [
        "Warning: You are sending unauthenticated requests to the HF Hub. Please set a HF_TOKEN or an error follows",
        "UserWarning: The secret `HF_TOKEN` does not exist in your Colab secrets.",
        "using HF_TOKEN from the environment",
        "KeyError: 'MY_HF_TOKEN_2'",
        "RuntimeError: CUDA error: out of memory",
    ],
)
def test_a_remark_is_no_failure_of_a_withheld_variable(text: str) -> None:
    assert named_in(text, ("HF_TOKEN",)) is None
