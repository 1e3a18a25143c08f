"""Who serves models: addresses, keys, and how each wants to be asked, as data."""

from interlingua.providers.credentials import AuthorisedRequest, Credentials, authorise, credentials
from interlingua.providers.endpoint import Endpoint, dialect_for, endpoint
from interlingua.providers.errors import (
    MissingSettingError,
    ProviderSetupError,
    ProvidersFileError,
    UnknownProviderError,
)
from interlingua.providers.provider import (
    Auth,
    Kind,
    Paths,
    Provider,
    RegionalHosts,
    Style,
    Switches,
    Timeouts,
    Variable,
)
from interlingua.providers.read import compatible
from interlingua.providers.registry import own_path, provider, providers
from interlingua.providers.secret import Secret
from interlingua.providers.signing import sign

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
