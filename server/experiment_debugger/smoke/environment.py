"""The environment of a smoke test: nothing in it opens a door, and what it tracks stays on this machine.

HF_TOKEN, WANDB_API_KEY, AWS_SECRET_ACCESS_KEY, DATABASE_URL=postgres://me:pw@db     withheld
PATH, CUDA_VISIBLE_DEVICES, TOKENIZERS_PARALLELISM, MAX_TOKENS=4096                  kept
WANDB_MODE=offline, PYTHONUNBUFFERED=1, ...                                          added

Credentials that lie in files of the home folder (`~/.netrc`, `~/.cache/huggingface/token`) stay within reach.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from experiment_debugger.discovery.names import words
from experiment_debugger.redaction import redact

OWN = "EXPERIMENT_DEBUGGER_"
_SECRET = words(
    "SECRET SECRETS PASSWORD PASSWORDS PASSWD PASSPHRASE PGPASSWORD SSHPASS APIKEY APIKEYS CREDENTIAL CREDENTIALS "
    "CREDS JWT BEARER OAUTH OAUTH2 COOKIE COOKIES WEBHOOK DSN ASKPASS KUBECONFIG NETRC PGPASSFILE CONNSTR"
)
"""Parts of a name, between underscores, that make a variable a secret whatever its value is."""
_LIKE_A_SECRET = words("TOKEN TOKENS KEY KEYS PASS PWD PAT AUTH SESSION SESSIONS")
"""Parts that do so unless the value is a number or the part before them is one of _NO_SECRET."""
_NO_SECRET = words(
    "PAD EOS BOS CLS SEP MASK UNK SPECIAL MAX MIN NUM NEW PER SORT CACHE METRIC GROUP LABEL TEXT IMAGE INPUT OUTPUT XDG"
)
_NAMES = words("PWD OLDPWD TOKENIZERS_PARALLELISM")
_NUMBER = re.compile(r"[-+]?\d{0,12}(?:\.\d{1,12})?|true|false|yes|no|on|off", re.IGNORECASE)

_OFFLINE = {
    "WANDB_MODE": ("offline", words("offline dryrun disabled")),
    "NEPTUNE_MODE": ("offline", words("offline debug disabled")),
    "CLEARML_OFFLINE_MODE": ("1", words("1 true yes on")),
    "COMET_START_ONLINE": ("0", words("0 false no off")),
    "SWANLAB_MODE": ("disabled", words("offline local disabled")),
}
"""Variable: the value that keeps a tracker from sending, and values that do so already.

wandb/env.py, neptune/envs.py, clearml/backend_api/session/defs.py, comet_ml/comet_start/init_parameters.py (only
`comet_ml.start` reads it), swanlab/sdk/internal/settings (`disabled` writes nothing at all).
"""
_SENDING = words("TRACKIO_SPACE_ID TRACKIO_SERVER_URL")
"""trackio keeps its records on this machine unless one of these names a place."""
_ADDED = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}


@dataclass(frozen=True, slots=True)
class Reduced:
    """The environment that is left, and the names of the variables that were withheld, sorted."""

    env: dict[str, str]
    withheld: tuple[str, ...]


def reduced(env: Mapping[str, str], pass_env: Collection[str]) -> Reduced:
    """The environment without secrets, except those that the operator lets through, and with trackers offline."""
    withheld = sorted(name for name, value in env.items() if name not in pass_env and is_secret(name, value))
    gone = {*withheld, *_SENDING} - set(pass_env)
    kept = {name: value for name, value in env.items() if name not in gone and not name.startswith(OWN)}
    return Reduced({**kept, **_ADDED, **_offline(kept)}, tuple(withheld))


def is_secret(name: str, value: str) -> bool:
    """Whether a variable has the name or the shape of a credential."""
    if name in _NAMES:
        return False
    return _is_secret_name(name.upper(), value) or redact(value) != value


def _is_secret_name(name: str, value: str) -> bool:
    parts = re.split(r"[^A-Z0-9]+", name)
    if not _SECRET.isdisjoint(parts) or "CONNECTION_STRING" in name:
        return True
    likely = [index for index, part in enumerate(parts) if part in _LIKE_A_SECRET]
    harmless = all(index and parts[index - 1] in _NO_SECRET for index in likely)
    return not harmless and not _NUMBER.fullmatch(value)


def _offline(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, (value, others) in _OFFLINE.items() if env.get(name, "").lower() not in others}


def named_in(text: str, withheld: Collection[str]) -> str | None:
    """The withheld variable that a failure is about: it is named in a complaint, or a known message means it.

    KeyError: 'HF_TOKEN'                                        HF_TOKEN
    wandb.errors.UsageError: No API key configured. Use ...     WANDB_API_KEY
    """
    complaints = [line for line in text.splitlines() if _COMPLAINT.search(line) and not _ADVICE.search(line)]
    for name in withheld:
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        if any(word.search(line) for line in complaints):
            return name
    meant = (name for pattern, names in _MEANT if pattern.search(text) for name in names)
    return next((name for name in meant if name in withheld), None)


_COMPLAINT = re.compile(
    r"(?i)error|exception|missing|not set|unset|unbound|must|requir|not (?:found|defined|provided|configured)"
    r"|undefined|no such|assert|does not exist"
)
_ADVICE = re.compile(r"(?i)\bwarning\b|rate limit|unauthenticated requests|userwarning")
_HUB = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_TOKEN", "HUGGINGFACE_HUB_TOKEN", "HF_API_TOKEN")
_AWS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE")
_MEANT = tuple(
    (re.compile(pattern), names)
    for pattern, names in (
        (r"No API key configured\. Use `wandb login`|api_key not configured \(no-tty\)", ("WANDB_API_KEY",)),
        (
            r"Cannot access gated repo|GatedRepoError|You are trying to access a gated repo|is a gated repository"
            r"|401 Client Error[^\n]*\n*[^\n]*(?:huggingface|Repository Not Found)|LocalTokenNotFoundError"
            r"|Invalid username or password|Token is required",
            _HUB,
        ),
        (r"NoCredentialsError|Unable to locate credentials|PartialCredentialsError", _AWS),
        (r"DefaultCredentialsError|default credentials were not found", ("GOOGLE_APPLICATION_CREDENTIALS",)),
        (r"Could not resolve authentication method", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")),
        (r"Comet(?:\.ml)? requires an API key", ("COMET_API_KEY",)),
        (r"NeptuneMissingApiTokenException|couldn't find your API token", ("NEPTUNE_API_TOKEN",)),
        (r"Could not find kaggle\.json", ("KAGGLE_KEY",)),
        (r"Permission denied \(publickey", ("SSH_AUTH_SOCK",)),
        (r"could not read Username for 'https://git", ("GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN")),
    )
)
"""Messages of wandb, huggingface_hub, transformers, botocore, google-auth, anthropic, comet_ml, neptune, kaggle, ssh
and git that do not name the variable."""
