"""Where user files and program files are.

Data of the program (the store) is in the data folder; files that a user writes (rules, prices) are
in the configuration folder. `INTERLINGUA_HOME` names one folder for both. Nothing is created here.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HOME = "INTERLINGUA_HOME"
"""The variable that names one folder for everything."""
STORE = "INTERLINGUA_STORE"
"""The variable with the address of the store, where it is not the file in the data folder."""
STORE_FILE = "interlingua.db"
GATEWAY = "gateway.toml"
PROFILES, PROVIDER_LISTS, PROVIDERS = "profiles.toml", "profiles", "providers.toml"
"""In the configuration folder: the user's rules, the folder of rules from providers' own lists, and
the user's providers."""
_NAME = "interlingua"


def data_folder() -> Path:
    """The folder of the program's own data."""
    return _folder("XDG_DATA_HOME", (".local", "share"), "LOCALAPPDATA", "Local")


def config_folder() -> Path:
    """The folder of files that a user writes."""
    return _folder("XDG_CONFIG_HOME", (".config",), "APPDATA", "Roaming")


def cache_folder() -> Path:
    """The folder of files that can be rebuilt at any time."""
    if os.environ.get(HOME):
        return data_folder() / "cache"
    if sys.platform == "win32":
        return data_folder() / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / _NAME
    folder = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(folder) if os.path.isabs(folder) else Path.home() / ".cache") / _NAME


def store_path() -> Path:
    """The store's file."""
    return data_folder() / STORE_FILE


def store_address() -> str | None:
    """The address that the environment names, if any."""
    return os.environ.get(STORE) or None


def gateway_path() -> Path:
    """The gateway's settings; the file need not exist."""
    return config_folder() / GATEWAY


def gateway_store(file: Path) -> str | None:
    """The store that the gateway's settings name, if any. The file is not checked otherwise."""
    import tomllib

    from interlingua.errors import InterlinguaError

    try:
        store = tomllib.loads(file.read_text(encoding="utf-8-sig")).get("store")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InterlinguaError(
            f"{file} may name the store, but cannot be read: {error}. Fix it, or pass --store."
        ) from None
    return store if isinstance(store, str) and store else None


def rules_path() -> Path:
    """The user's rules for choosing models."""
    return config_folder() / "rules.toml"


def prices_path() -> Path:
    """The user's price file, which overrides the package's prices: `prices.toml`, or a YAML file if
    only that exists."""
    folder = config_folder()
    written = [folder / f"prices.{suffix}" for suffix in ("toml", "yaml", "yml")]
    return next((path for path in written if path.exists()), written[0])


def refreshed_prices_path() -> Path:
    """The table that `interlingua prices refresh` wrote."""
    return config_folder() / "prices.refreshed.json"


def profiles_path() -> Path:
    """The user's own model rules, which override those of the package."""
    return config_folder() / PROFILES


def provider_list_path(provider: str) -> Path:
    """Rules from a provider's own list of models, laid over the package's rules."""
    return config_folder() / PROVIDER_LISTS / f"{provider}.toml"


def learned_path() -> Path:
    """Rules learned from refusals of providers, as a gateway of this machine recorded them."""
    return data_folder() / "learned.jsonl"


def _folder(xdg: str, default: tuple[str, ...], windows: str, windows_default: str) -> Path:
    named = os.environ.get(HOME)
    if named:
        return Path(named).expanduser().absolute()
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get(windows) or home / "AppData" / windows_default) / _NAME
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / _NAME
    folder = os.environ.get(xdg, "")
    # The XDG base directory specification says that a relative path is to be ignored.
    return (Path(folder) if os.path.isabs(folder) else home.joinpath(*default)) / _NAME


def try_lock(file: int) -> bool:
    """Whether this process has the lock of an open file now; closing the file gives it back."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
