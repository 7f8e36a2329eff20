"""Secrets are taken out, commits and words of language models stay. Fake secrets are put together at run time."""

from __future__ import annotations

import time

import pytest

from experiment_debugger.redaction import redact, redacted_words

HEX40 = "0123456789abcdef" * 2 + "01234567"
ALNUM = "aB3" * 14
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "QUJD" * 16 + "\n" + "QUJD" * 5 + "\n-----END RSA PRIVATE " + "KEY-----"

SECRETS = [
    ("hf-token", "login with " + "hf_" + ALNUM[:34], "hf_"),
    ("github-token", "cloning https://" + "ghp_" + ALNUM[:36] + "@github.com/x/y", "ghp_"),
    ("github-token", "github_" + "pat_" + ALNUM[:40], "pat_"),
    ("gitlab-token", "glp" + "at-" + ALNUM[:20], "at-aB"),
    ("aws-key", "AKIA" + "ABCDEFGH" * 2, "ABCDEFGH"),
    ("wandb-key", "export WANDB_API_KEY=" + HEX40, HEX40),
    ("wandb-key", "$ wandb login " + HEX40, HEX40),
    ("wandb-key", "machine api.wandb.ai login user password " + HEX40, HEX40),
    ("anthropic-key", "sk-" + "ant-api03-" + ALNUM, ALNUM),
    ("openai-key", "sk-" + "proj-" + ALNUM, ALNUM),
    ("slack-token", "xox" + "b-123456789012-" + ALNUM[:12], "123456789012"),
    ("slack-webhook", "https://hooks.slack.com/" + "services/T0000/B0000/" + ALNUM[:24], ALNUM[:24]),
    ("bearer", "Authorization: " + "Bearer " + ALNUM, ALNUM),
    ("url-password", "proxy http://me:" + "hunter2@proxy:3128", "hunter2"),
    ("password", "db_password=" + "hunter2 retries=3", "hunter2"),
    ("password", '{"password": "' + 'hunter2", "user": "me"}', "hunter2"),
    ("secret", "client_secret: " + ALNUM[:20], ALNUM[:20]),
    ("secret", "'NEPTUNE_API_TOKEN': '" + ALNUM + "'", ALNUM),
    ("secret", "train.py --api-key " + ALNUM[:16], ALNUM[:16]),
    ("secret", "MY_API_KEY=" + HEX40, HEX40),
    ("private-key", "key:\n" + PEM + "\nepoch 1", "QUJD"),
    ("jwt", "ey" + "J" + ALNUM[:20] + ".ey" + "J" + ALNUM[:20] + "." + ALNUM[:20], ALNUM[:20]),
]

HARMLESS = [
    "HEAD is now at " + HEX40,
    f"commit={HEX40} dirty=false",
    '"git": {"commit": "e41b7730"}',
    "pad_token='<pad>' eos_token=</s> bos_token_id=1 token_type_ids",
    "tokens=512 max_new_tokens: 128 tokens/s: 12345.67",
    "s/token: 0.0123456789 token=1.2345678e-05",
    "password=None token=True api_key=null secret: ***",
    "tokenizer=AutoTokenizer.from_pretrained('x')",
    "password = os.environ['DB_PASSWORD']",
    "task-agnostic-disk-usage-of-something-long-and-more",
    "epoch 3: loss 0.1234567890123456",
    "tcp://10.0.0.1:29500 rank 3",
    "time 12:30:45 user@host:/scratch/me",
    "checkpoint key: module.encoder.layer.11.attention.self.query.weight",
]


@pytest.mark.parametrize(("kind", "text", "secret"), SECRETS)
def test_a_secret_becomes_its_kind(kind: str, text: str, secret: str) -> None:
    cleaned = redact(text)
    assert f"[REDACTED:{kind}]" in cleaned
    assert secret not in cleaned
    assert redact(cleaned) == cleaned


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_the_text_around_a_secret_stays() -> None:
    assert redact("a db_password=" + "hunter2 b") == "a db_password=[REDACTED:password] b"
    assert redact("key:\n" + PEM + "\nepoch 1") == "key:\n[REDACTED:private-key]\nepoch 1"


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "password=",
        "token:",
        "http://a:",
        "eyJ",
        "-----BEGIN PRIVATE " + "KEY-----\n",
        "sk-",
        "--a-",
        "A" * 50 + "\n",
    ],
)
def test_redaction_is_linear_in_the_length(unit: str) -> None:
    short, long = unit * (20_000 // len(unit)), unit * (160_000 // len(unit))
    started = time.process_time()
    redact("token " + short)
    first = time.process_time()
    redact("token " + long)
    assert time.process_time() - first < 16 * (first - started) + 0.2


def test_a_command_line_loses_what_only_its_option_names_as_secret() -> None:
    words = ["train.py", "--password", "hunter2", "--hf-token", "abcd", "--pad_token", "<pad>", "--auth", "--lr", "1"]
    assert redacted_words(words) == (
        "train.py", "--password", "[REDACTED:password]", "--hf-token", "[REDACTED:token]", "--pad_token", "<pad>",
        "--auth", "--lr", "1",
    )  # fmt: skip
