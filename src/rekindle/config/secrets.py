"""What is secret in settings and texts, and how it is hidden wherever they are shown, logged or written down. Pure.

A setting is secret by the words in its key. Other values, and texts such as messages of exceptions, may have secrets in
them: a password in a URL, or what follows ``password=`` as in JAAS configurations and JDBC URLs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

HIDDEN = "******"

_WORDS = r"token|pass(?:word|wd|phrase|code)|secret|credential|jaas|auth-?params|basic-?auth|http-?headers"
_SECRET_KEY = re.compile(
    rf"{_WORDS}|(?:^|[^a-z])(?:pwd|pw|pass|sas|cookie)(?:$|[^a-z])|(?:^|[^a-z])auth$|(?:api|access|private|account|secret|shared)[._-]?key"
    r"|(?:^|[^a-z])key(?:$|[._-]?pem)"
)
# Every repetition has a bound: a text of any length and content takes time in proportion to its length.
_ASSIGNMENT = re.compile(
    r"""(?ix)
    ( (?: pass(?:word|wd|phrase|code) | (?<![a-z]) (?:pwd|pass|sig) (?![a-z]) | secret | token | credential
      | signature | (?:api|access|account|private|shared) [_.-]? (?:access [_.-]?)? key ) [\w.-]{0,40}
      (?: \s{0,9}=\s{0,9} | ["']\s{0,9}:\s{0,9} ) )
    ( "(?:[^"\\]|\\.){0,200}" | '(?:[^'\\]|\\.){0,200}' | \{[^}\n]{0,200}\} | [^\s&;,"')}\]]+ )"""
)
_SAID = re.compile(  # as in YAML and on command lines
    r"""(?ix)
    ( (?: (?<![a-z]) pass(?:word|wd|phrase) \s{0,3}:\s{1,9}
      | --[\w-]{0,40}(?:password|passphrase|token|secret)\s{1,3}
      | authorization ["']?\s{0,3}[:=]\s{0,3}["']?(?:(?:basic|bearer|token)\s{1,3})? ) )
    [^\s"',;]{1,4096}"""
)
_PASSWORD_IN_URL = re.compile(r"([a-zA-Z0-9]://[^\s/@:?#]{0,99}:)(?!\d+/)[^\s@]{1,200}(?=@)")
_USER_OF_WEB = re.compile(r"(https?://)[^\s/@:?#]{1,200}(?=@)", re.IGNORECASE)  # which may be a token
_ORACLE = re.compile(r"(jdbc:oracle:\w{1,9}:[^\s/@]{0,99}/)[^\s@]{1,200}(?=@)", re.IGNORECASE)


def is_secret(key: str) -> bool:
    """Return by the name of a key that its value is not to be shown."""
    return _SECRET_KEY.search(key.lower()) is not None


def without_secrets(text: str) -> str:
    """Return a text without the secrets in it, as far as they can be told from the rest."""
    for pattern in (_ORACLE, _PASSWORD_IN_URL, _USER_OF_WEB):
        text = pattern.sub(rf"\g<1>{HIDDEN}", text)
    for pattern in (_ASSIGNMENT, _SAID):
        text = pattern.sub(rf"\g<1>{HIDDEN}", text)
    return text


def shown(key: str, value: str) -> str:
    """Return the value of a setting as it may be shown."""
    return HIDDEN if is_secret(key) else without_secrets(value)


def has_secret(key: str, value: str) -> bool:
    """Return whether a setting must be kept from others."""
    return shown(key, value) != value


def all_shown(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as they may be shown."""
    return {key: shown(key, value) for key, value in settings.items()}
