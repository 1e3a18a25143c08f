"""`Client` and `AsyncClient`: requests to models over HTTP, with retries, fallbacks and tools."""

from interlingua.client.answer import (
    Answer,
    Attempt,
    Call,
    Middleware,
    Parsed,
    Run,
    Step,
    TokenCount,
    add_usage,
)
from interlingua.client.client import AsyncClient
from interlingua.client.errors import (
    AuthError,
    CallCancelledError,
    CallError,
    CallTimeoutError,
    ContextOverflowError,
    InvalidRequestError,
    NetworkError,
    OutputError,
    ProviderFailure,
    RateLimitError,
    ServerError,
    TooLargeError,
)
from interlingua.client.fetching import MediaFetcher
from interlingua.client.retry import RetryPolicy
from interlingua.client.stream import AsyncStream
from interlingua.client.sync import Client, Stream

__all__ = [
    "Answer",
    "AsyncClient",
    "AsyncStream",
    "Attempt",
    "AuthError",
    "Call",
    "CallCancelledError",
    "CallError",
    "CallTimeoutError",
    "Client",
    "ContextOverflowError",
    "InvalidRequestError",
    "MediaFetcher",
    "Middleware",
    "NetworkError",
    "OutputError",
    "Parsed",
    "ProviderFailure",
    "RateLimitError",
    "RetryPolicy",
    "Run",
    "ServerError",
    "Step",
    "Stream",
    "TokenCount",
    "TooLargeError",
    "add_usage",
]
