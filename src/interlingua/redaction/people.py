"""What leads to a person or a machine: e-mail and IP addresses, home folders."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address

from interlingua.redaction.shapes import Shape, words

_NO_DOMAINS = words(
    "png jpg jpeg gif svg webp ico css scss less js mjs cjs ts tsx jsx json html htm md txt py rs"
    " go java yml yaml toml lock zip gz tar whl pdf mp4 mp3 wav map sh exe dll so"
)
"""Ends of file names: `icon@2x.png` is a file."""
_NO_PEOPLE = words(
    "user username users me you name yourname your-name someone runner shared public default"
    " linuxbrew node app"
)
"""Folders of nobody."""
_VERSION_BEFORE = re.compile(
    r"(?:\bv|\bversions?|\bver\.?|\brelease|\bbuild|[=~<>!]=|[<>^~@]|[A-Za-z0-9][-_/])"
    r"[\s:=\"'`]{0,4}$",
    re.IGNORECASE,
)
EMAIL = (
    r"(?<![A-Za-z0-9._%+/:-])[A-Za-z0-9._%+-]{1,64}@"
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9_-])"
)
IPV4 = r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)"
IPV6 = (
    r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9A-Fa-f]{1,4}|(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])"
)
HOME = (
    r"(?<![A-Za-z0-9_.~-])(?:[A-Za-z]:)?(?:[\\/]{1,4})(?:home|[Uu]sers)[\\/]{1,4}"
    r"([^\s\\/:*?\"'<>|,;)\](}{`]{1,64})"
)
FOLDED_HOME = r"(?:^|(?<=[\\/]))-(?:home|Users)-([A-Za-z0-9_.]{1,64})(?=-|$)"
"""As coding agents name the folder of a project: `-home-u17-project`."""


def _is_person(match: re.Match[str]) -> bool:
    name, _, domain = match[0].rpartition("@")
    if name == "git" or domain.rpartition(".")[2].lower() in _NO_DOMAINS:
        return False
    return not name.endswith(".") and not name.startswith(".")


def _is_foreign_ipv4(match: re.Match[str]) -> bool:
    """Neither a version, nor a mask, nor this machine itself."""
    before = match.string[max(0, match.start() - 16) : match.start()]
    if _VERSION_BEFORE.search(before) and not before.endswith("//"):
        return False
    try:
        address = ip_address(match[0])
    except ValueError:
        return False
    if match[0].startswith("255.") or match[0].startswith("0."):
        return False
    return not address.is_loopback


def _is_foreign_ipv6(match: re.Match[str]) -> bool:
    try:
        address = IPv6Address(match[0])
    except ValueError:
        return False
    groups = [group for group in match[0].split(":") if group]
    telling = [group for group in groups if len(group) >= 3 and re.search(r"\d", group)]
    return len(groups) >= 2 and bool(telling) and not address.is_loopback


def _is_home_of_somebody(match: re.Match[str]) -> bool:
    return match[1].lower() not in _NO_PEOPLE and not match[1].startswith(("$", ".", "[", "%"))


PEOPLE: tuple[Shape, ...] = (
    Shape("email", ("@",), re.compile(EMAIL), _is_person),
    Shape("ip-address", (".",), re.compile(IPV4), _is_foreign_ipv4),
    Shape("ip-address", (":",), re.compile(IPV6), _is_foreign_ipv6),
    Shape("home-folder", ("home", "users"), re.compile(HOME), _is_home_of_somebody),
    Shape("home-folder", ("-home-", "-users-"), re.compile(FOLDED_HOME), _is_home_of_somebody),
)
