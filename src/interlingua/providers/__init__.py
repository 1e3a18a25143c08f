"""Providers as data: addresses, keys, signing, and endpoints."""

from interlingua.providers.credentials import (
    AuthorisedRequest,
    Credentials,
    authorise,
    credentials,
    sign,
)
from interlingua.providers.endpoint import Endpoint, dialect_for, endpoint
from interlingua.providers.provider import (
    Auth,
    Kind,
    MissingSettingError,
    Paths,
    Provider,
    ProviderSetupError,
    ProvidersFileError,
    RegionalHosts,
    Secret,
    Style,
    Switches,
    Timeouts,
    ToolIds,
    UnknownProviderError,
    Variable,
)
from interlingua.providers.read import compatible, own_path, provider, providers

__all__ = [
    "Auth",
    "AuthorisedRequest",
    "Credentials",
    "Endpoint",
    "Kind",
    "MissingSettingError",
    "Paths",
    "Provider",
    "ProviderSetupError",
    "ProvidersFileError",
    "RegionalHosts",
    "Secret",
    "Style",
    "Switches",
    "Timeouts",
    "ToolIds",
    "UnknownProviderError",
    "Variable",
    "authorise",
    "compatible",
    "credentials",
    "dialect_for",
    "endpoint",
    "own_path",
    "provider",
    "providers",
    "sign",
]
