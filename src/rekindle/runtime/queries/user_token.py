"""The token of queryable state where nobody has set one: of the user, for clients and jobs on one machine."""

from __future__ import annotations

from rekindle.base.user_secret import user_secret
from rekindle.exceptions import ConfigurationError


def user_token() -> str:
    """Return the token.

    Raises:
        ConfigurationError: It can be kept nowhere.
    """
    purpose = "the token of queryable state cannot be kept there"
    try:
        return user_secret("queryable-state", purpose)
    except OSError as error:
        raise ConfigurationError(
            f"{error.filename}: {error.strerror}, so {purpose}: set queryable-state.token"
        ) from error
