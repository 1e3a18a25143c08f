"""The authorities of the web, which no test needs: all speak on loopback.

Each client of an SDK reads them anew, and that takes longer than what a test asks of it.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from typing import Any

_load = ssl.SSLContext.load_verify_locations


def leave_out() -> None:
    """From now on they are not read; those that a test has made are."""
    known = _known()

    def load(
        self: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None
    ) -> None:
        if cafile is None or cafile not in known:
            _load(self, cafile, capath, cadata)

    ssl.SSLContext.load_verify_locations = load  # type: ignore[method-assign]


def _known() -> set[str | None]:
    usual = ssl.get_default_verify_paths()
    known = {usual.cafile, usual.openssl_cafile}
    with suppress(ImportError):
        import certifi

        known.add(certifi.where())
    return known
