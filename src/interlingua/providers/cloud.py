"""Credentials that a cloud issues for a limited time: Google's application default credentials, and
AWS's for a profile, a role, a container or a machine.

The vendors' own packages find and refresh them, on a thread of their own: they block. They are
fetched when they are first needed, and again before they expire; until then the old ones serve."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from interlingua.errors import InterlinguaError, MissingExtraError
from interlingua.providers.credentials import Credentials
from interlingua.providers.provider import Provider, ProviderSetupError, Secret

logger = logging.getLogger(__name__)

CLOUDS = frozenset({"adc", "aws"})
"""Sources of credentials that are fetched."""
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
EARLY = 300
"""Seconds before they expire in which the credentials of AWS are fetched anew; Google's package
has a time of its own."""
PAUSE = 5.0
"""Seconds between two attempts to fetch them."""


_HINTS = {
    "adc": "set GOOGLE_APPLICATION_CREDENTIALS, run gcloud auth application-default login, or run"
    " it where a service account is attached",
    "aws": "name a profile (AWS_PROFILE, aws_profile), or run it where a role is attached",
}


class _Source(Protocol):
    """Credentials of one cloud, by the package of its vendor."""

    variables: dict[str, str]

    def is_valid(self) -> bool: ...

    def is_fresh(self) -> bool:
        """Whether they need not be fetched soon."""

    def fetch(self) -> Credentials: ...


class CloudLogin:
    """The credentials of one provider."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._source: _Source | None = None
        self._known: Credentials | None = None
        self._thread = ThreadPoolExecutor(1, f"interlingua-{provider.key}")
        self._pending: Future[None] | None = None
        self._problem: InterlinguaError | None = None
        self._again_at = 0.0

    @property
    def variables(self) -> dict[str, str]:
        """The project or region of the cloud, under names of the environment."""
        return {} if self._source is None else self._source.variables

    def credentials(self) -> Credentials:
        """The current credentials, as long as they are valid."""
        if self._known is None or self._source is None or not self._source.is_valid():
            raise self._problem or ProviderSetupError(self._provider.key, "no credentials yet")
        return self._known

    def begin(self) -> Future[None] | None:
        """Starts to fetch credentials if that is due; returns a future to wait for, or None if the
        current ones are valid or the last attempt has just failed."""
        source = self._source if self._known is not None else None
        if source is not None and source.is_fresh():
            return None
        is_valid = source is not None and source.is_valid()
        if self._pending is None or self._pending.done():
            may_wait = is_valid or self._problem is not None
            if may_wait and time.monotonic() < self._again_at:
                return None
            self._pending = self._thread.submit(self._fetch)
        return None if is_valid else self._pending

    def _fetch(self) -> None:
        key = self._provider.key
        try:
            if self._source is None:
                kind = _Google if self._provider.credentials == "adc" else _Aws
                self._source = kind(self._provider)
            self._known = self._source.fetch()
            self._problem = None
        except MissingExtraError as error:
            self._problem = error
        except Exception as error:  # whatever these packages raise
            source = self._provider.credentials or ""
            why = f"{type(error).__name__}: {str(error)[:300]}"
            logger.warning("credentials_not_fetched", extra={"provider": key, "why": why})
            problem = f"no credentials by {source!r}, see the log; {_HINTS[source]}"
            self._problem = ProviderSetupError(key, problem)
            self._problem.__cause__ = error
        finally:
            self._again_at = time.monotonic() + PAUSE


def _variables(provider: Provider, name: str, value: str | None) -> dict[str, str]:
    """Sets a variable of the provider's address under the last of its names, so any other takes
    precedence."""
    variable = provider.variables.get(name)
    return {variable.env[-1]: value} if value and variable and variable.env else {}


class _Google:
    """Application default credentials: a file, those of `gcloud`, or the metadata server."""

    def __init__(self, provider: Provider) -> None:
        try:
            import google.auth
            from google.auth.credentials import TokenState
            from google.auth.transport.requests import Request
        except ImportError:
            raise MissingExtraError("application default credentials", "vertex") from None
        self._states, self._request = TokenState, Request()
        found, project = google.auth.default(scopes=[SCOPE])
        self._found: Any = found
        self.variables = _variables(provider, "project", project)

    def is_valid(self) -> bool:
        return bool(self._found.token_state is not self._states.INVALID)

    def is_fresh(self) -> bool:
        return bool(self._found.token_state is self._states.FRESH)

    def fetch(self) -> Credentials:
        if not self.is_fresh():
            self._found.refresh(self._request)
        quota = getattr(self._found, "quota_project_id", None)
        return Credentials(
            style="google-token",
            source="adc",
            secret=Secret(self._found.token),
            headers={"x-goog-user-project": quota} if quota else {},
        )


class _Aws:
    """The credentials that botocore finds: a profile, an assumed role, SSO, a container or the
    machine's role."""

    def __init__(self, provider: Provider) -> None:
        try:
            from botocore.session import Session
        except ImportError:
            raise MissingExtraError("credentials of AWS", "bedrock") from None
        session = Session(profile=provider.aws_profile)
        self._found: Any = session.get_credentials()
        if self._found is None:
            raise LookupError("botocore finds no profile, role, container or instance with any")
        region = session.get_config_variable("region")
        self.variables = _variables(provider, "region", region)

    def is_valid(self) -> bool:
        return not self._expires_in(0)

    def is_fresh(self) -> bool:
        return not self._expires_in(EARLY)

    def _expires_in(self, seconds: int) -> bool:
        refresh_needed = getattr(self._found, "refresh_needed", None)
        return refresh_needed is not None and bool(refresh_needed(seconds))

    def fetch(self) -> Credentials:
        found = self._found.get_frozen_credentials()
        return Credentials(
            style="aws-sigv4",
            source="aws",
            secret=Secret(found.secret_key),
            access_key=found.access_key,
            session_token=Secret(found.token) if found.token else None,
        )
