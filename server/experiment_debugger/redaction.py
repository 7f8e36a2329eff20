"""Secrets in logs, job files and environments become `[REDACTED:kind]` before anything leaves the tool.

A line such as

    export WANDB_API_KEY=0123...  HF_TOKEN=hf_...  git clone https://me:password@host/x.git

keeps its shape and loses the values. A bare 40-hex string is a commit and stays: it is a secret only in the context of
a key name. Words of language models (`pad_token='<pad>'`, `tokens=512`, `s/token: 0.0123`) are not secrets either.

Every pattern is linear in the length of the text: each repetition is over one character class that is disjoint from
what follows, and there is no nested repetition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NOT_REDACTED = r"(?!\[REDACTED:)"
_ASSIGN = r"""["']?\s{0,4}(?:=>|[:=])\s{0,4}["']?"""
_NO_VALUE = r"(?!(?:none|null|true|false|str|optional|os\.|getpass|self\.|args\.|\*{3})\b|[$<{*(])"
# a word is no key: "special token: endoftext", "per-token attention"
_LIKE_A_KEY = r"[A-Za-z_+=~%!@:-][A-Za-z_./+=~%!@:-]{0,64}\d|\d\w{0,64}[A-Za-z]|[A-Za-z_][^\s]{23}"
_NUMBER = r"(?![-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?[a-z]{0,2}(?:[^\w.]|$))"

# (kind, pattern); the group `keep` in front of the secret stays. Specific shapes come before the generic ones.
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (
            "private-key",
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?:\\n|\s)+[A-Za-z0-9+/=]{16,})*"
            r"(?:(?:\\n|\s)*[A-Za-z0-9+/=]*(?:\\n|\s)*-----END [A-Z ]{0,40}PRIVATE KEY-----)?",
        ),
        (
            "wandb-key",
            rf"(?i)(?P<keep>wandb[_-]?(?:api)?[_-]?key(?:{_ASSIGN}|\s{{1,4}})|wandb login (?:--relogin )?"
            r"|paste an api key[^:\n]{0,80}:\s{0,4}"
            r"|api\.wandb\.ai\s{1,8}login\s{1,8}\w{1,64}\s{1,8}password\s{1,8})[0-9a-f]{40}\b",
        ),
        ("wandb-key", r"\bwandb_v\d_[A-Za-z0-9_]{20,}"),
        ("hf-token", r"\b(?:hf|api_org)_[A-Za-z0-9]{20,}"),
        ("github-token", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})"),
        ("gitlab-token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
        ("aws-key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
        ("anthropic-key", r"\bsk-ant-[A-Za-z0-9_-]{16,}"),
        ("openai-key", r"\bsk-(?=[A-Za-z_-]{0,64}\d)[A-Za-z0-9_-]{20,}"),
        ("slack-token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
        ("slack-webhook", r"(?P<keep>hooks\.slack\.com/(?:services|workflows)/)[A-Za-z0-9/_-]{20,}"),
        ("google-key", r"\bAIza[A-Za-z0-9_-]{35}"),
        ("nvidia-key", r"\bnvapi-[A-Za-z0-9_-]{20,}"),
        ("npm-token", r"\bnpm_[A-Za-z0-9]{36}\b"),
        ("pypi-token", r"\bpypi-AgEI[A-Za-z0-9_-]{16,}"),
        (
            "url-signature",
            r"(?i)(?P<keep>[?&](?:x-amz-signature|x-goog-signature|sig|signature)=)[A-Za-z0-9%+/=_-]{16,}",
        ),
        ("cookie", rf"(?i)(?P<keep>\bcookie{_ASSIGN}[\w.-]{{1,64}}=)[^\s;\"'\[]{{16,}}"),
        ("kaggle-key", r"(?P<keep>\"key\":\s?\")[0-9a-f]{32}(?=\")"),
        ("jwt", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
        (
            "url-password",
            rf"(?P<keep>[A-Za-z0-9+.-]{{2,20}}://[^\s/:@\[]{{0,256}}:){_NOT_REDACTED}[^\s/@]{{1,512}}(?=@)",
        ),
        (
            "bearer",
            rf"(?i)(?P<keep>\bbearer\s{{1,4}}|\bauthorization{_ASSIGN}(?:basic|token)\s{{1,4}})"
            r"[A-Za-z0-9._~+/=-]{16,}",
        ),
        (
            "password",
            rf"(?i)(?P<keep>(?:password|passwd|passphrase){_ASSIGN}|--?(?:password|passwd)\s{{1,4}}){_NOT_REDACTED}"
            rf"{_NO_VALUE}[^\s\"',;&)}}\]]+",
        ),
        (
            "secret",
            rf"(?i)(?P<keep>secret{_ASSIGN}|(?:token|(?:api|access|secret|account|auth)[_-]?key)"
            rf"(?:{_ASSIGN}|(?<=[-_]token)\s|(?<=[-_]key)\s)(?={_LIKE_A_KEY})){_NOT_REDACTED}{_NO_VALUE}{_NUMBER}"
            r"[A-Za-z0-9_./+=~%!@:-]{8,}",
        ),
        (
            "secret",  # an environment variable such as KAGGLE_KEY
            rf"(?P<keep>\b[A-Z][A-Z0-9_]{{0,64}}_KEY=[\"']?)(?=[A-Za-z_+/=-]{{0,64}}\d){_NOT_REDACTED}"
            r"[A-Za-z0-9_+/=-]{20,}",
        ),
        (
            "base64",  # the inner lines of a private key, seen one at a time
            r"(?m)^[ \t]{0,16}(?=[A-Za-z+/]{0,76}\d)(?=[A-Z0-9+/]{0,76}[a-z])(?=[a-z0-9+/]{0,76}[A-Z])"
            r"[A-Za-z0-9+/]{64,76}={0,2}\s{0,2}$",
        ),
    )
)
_HINT = re.compile(
    r"(?i)BEGIN|wandb|hf_|api_org|gh[pousr]_|github_pat|glpat|AKIA|ASIA|ABIA|ACCA|sk-|xox|slack|AIza|nvapi|eyJ"
    r"|://|bearer|authorization|passw|passphrase|secret|token|key|cookie|npm_|pypi-|signature|\bsig="
    r"|^[ \t]{0,16}[a-z0-9+/]{64}",
    re.MULTILINE,
)


_UNREADABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\ue000-\uf8ff]"
)


_SECRET_OPTION = re.compile(
    r"--?(?!-|(?:pad|bos|eos|unk|sep|cls|mask|stop|special|additional)[-_])(?:[\w-]+[-_])?"
    r"(password|passwd|passphrase|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|auth)(?:[-_](?:id|value))?",
    re.IGNORECASE,
)
"""An option whose value is a secret, whatever it looks like."""


def readable(text: str) -> str:
    """The text without control and invisible characters."""
    return _UNREADABLE.sub("", text)


def redact(text: str) -> str:
    """The text with every secret replaced by `[REDACTED:kind]`; idempotent, and linear in the length of the text."""
    if not _HINT.search(text):
        return text
    for kind, pattern in _PATTERNS:
        text = pattern.sub(lambda match, kind=kind: _replacement(match, kind), text)  # type: ignore[misc]
    return text


def _replacement(match: re.Match[str], kind: str) -> str:
    keep = match.groupdict().get("keep") or ""
    return f"{keep}[REDACTED:{kind}]"


def redacted_words(words: Sequence[str]) -> tuple[str, ...]:
    """A command line without secrets, also where only the option in front names one: `--password x`."""
    return tuple(_redacted_word(word, last) for last, word in zip(("", *words), words, strict=False))


def _redacted_word(word: str, before: str) -> str:
    option = _SECRET_OPTION.fullmatch(before)
    return f"[REDACTED:{option[1].lower()}]" if option and not word.startswith("-") else redact(word)
