"""What is secret in settings and texts, and how it is hidden wherever they are shown, logged or written down. Pure.

A setting is secret by the words in its key. Other values, and texts such as messages of exceptions, may have secrets in
them: a password in a URL, or what follows ``password=`` as in JAAS configurations and JDBC URLs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

HIDDEN = "******"

_WORDS = (
    r"token|pass(?:word|wd|phrase|code)|secret|credential|jaas|auth[._-]?params|basic[._-]?auth|http[._-]?headers"
    r"|(?:api|access|private|account|secret|shared)[._-]?key"
)
_WHOLE_WORDS = r"pwd|pw|(?:db|user)?pass|sas|cookie|jwt|bearer|otp|dsn"
_SECRET_KEY = re.compile(
    rf"{_WORDS}|(?:^|[^a-z])(?:{_WHOLE_WORDS})(?:$|[^a-z])|(?:^|[^a-z])auth(?:orization)?(?:[._-]?header)?$"
    r"|(?<!mon|tur)(?<!turn)key$|(?:^|[^a-z])key[._-]?pem"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

# Every repetition has a bound: a text of any length and content takes time in proportion to its length.
_NAMES = r"""(?: pass(?:word|wd|phrase|code) | secret | token | credential | signature
      | (?: (?<![a-z]) | (?-i:(?<=[a-z])(?=[A-Z])) ) (?:pwd|(?:db|user)?pass|sig|jwt) (?![a-z])
      | (?:api|access|account|private|shared|secret|encryption|signing|master|session|pass) [_.-]?
        (?:access [_.-]?)? key )"""
_QUOTED = r"""[bru]{0,2} (?: "(?:[^"\\]|\\.){0,4096}" | '(?:[^'\\]|\\.){0,4096}' )"""
_OPENED = r"""(?: [bru]{0,2} ["'] )?"""  # of a text that was cut off
_ASSIGNMENT = re.compile(
    rf"""(?ix)
    ( {_NAMES} [\w.-]{{0,40}} (?: \s{{0,9}}=\s{{0,9}} | ["']\s{{0,9}}:\s{{0,9}} ) )
    ( {_QUOTED} | \{{[^}}\n]{{0,200}}\}} | (?: {_OPENED} | [&;] (?! [\w.-]{{1,40}}= ) ) [^\s&;,"')}}\]]+ )"""
)
_SAID = re.compile(  # as in YAML and on command lines
    rf"""(?ix)
    ( (?: {_NAMES} \s{{0,3}}:\s{{1,9}} (?! (?:str|bytes|int|bool|float|None|Any) (?![\w.-]) )
      | (?<!-) --[\w-]{{0,40}} {_NAMES} \s{{1,3}}
      | (?-i: (?<![A-Za-z]) Bearer ) \s{{1,3}} (?! (?:auth\w{{0,20}}|tokens?|realm|is|was|of|or|and) \b )
      | authorization ["']?\s{{0,3}}[:=]\s{{0,3}}["']?(?:(?:basic|bearer|token)\s{{1,3}})? ) )
    (?: {_QUOTED} | {_OPENED} [^\s"',;]{{1,4096}} )"""
)
_DEFINITION = re.compile(r"(-{0,2}[\w.-]+)=.*", re.DOTALL)
_PASSWORD_IN_URL = re.compile(r"([a-zA-Z0-9]://[^\s/@:?#]{0,99}:)(?!\d+/)[^\s@]{1,200}(?=@)")
_USER_OF_WEB = re.compile(r"(https?://)[^\s/@:?#]{1,200}(?=@)", re.IGNORECASE)  # which may be a token
_USER_AND_PASSWORD = re.compile(  # but no address of mail, number of a partition or digest of an image
    r"(?<![\w/@:.+-])(?!mailto:)([\w.+-]{1,64}:)(?!\d{1,20}@)[^\s/@:,;\"']{1,200}(?=@(?!sha256:)\w)"
)
_ORACLE = re.compile(r"(jdbc:oracle:\w{1,9}:[^\s/@]{0,99}/)[^\s@]{1,200}(?=@)", re.IGNORECASE)


def is_secret(key: str) -> bool:
    """Return by the name of a key that its value is not to be shown."""
    return any(_SECRET_KEY.search(form.lower()) for form in (key, _HUMP.sub(".", key)))


def without_secrets(text: str) -> str:
    """Return a text without the secrets in it, as far as they can be told from the rest."""
    for pattern in (_ORACLE, _PASSWORD_IN_URL, _USER_OF_WEB, _USER_AND_PASSWORD):
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


def arguments_shown(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments of a program as they may be shown.

    The rule for keys holds for ``--name=value``, ``name=value`` and ``-Dname=value``, and for what follows ``--name``;
    that for texts, for any other argument.
    """
    return tuple(
        HIDDEN if _awaits_secret(before) and not argument.startswith("--") else _argument_shown(argument)
        for before, argument in zip(("", *arguments), arguments, strict=False)
    )


def _awaits_secret(argument: str) -> bool:
    return argument.startswith("-") and "=" not in argument and is_secret(argument.lstrip("-"))


def _argument_shown(argument: str) -> str:
    definition = _DEFINITION.fullmatch(argument)
    if definition is None:
        return without_secrets(argument)
    name = definition[1]
    secret = is_secret(name.lstrip("-")) or is_secret(name.removeprefix("-D"))
    return f"{name}={HIDDEN}" if secret else without_secrets(argument)
