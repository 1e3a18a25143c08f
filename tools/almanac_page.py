"""The page of the almanac, made from its data: `make docs`."""

from __future__ import annotations

from interlingua.profiles.almanac import Word, endpoints, reasons, rules, surfaces, words

HEAD = """# Almanac

Every field and literal of the providers' SDKs, every endpoint of them and every rule about
models, as of {read}. `interlingua almanac --json` prints the same, with the types that have a
word, the first release of the SDK that it was seen in (`since`), the reason and the date of each;
other converters may use it. `python -m tools.wire_gaps` compares it with the installed SDKs, and
a test fails where they differ.

**Mapped** words have a canonical form. **Raw** ones are written back unchanged and reported
elsewhere. **Refused** ones are not served.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD.format(read=reasons()["read"])]
    for surface in surfaces():
        lines = words(surface)
        known = ", ".join(sorted({each.since for each in lines}))
        parts.append(f"## {surface}\n\n{len(lines)} words, known since {known}.\n")
        parts += [_group(lines, *key) for key in sorted({(e.status, e.group) for e in lines})]
    parts.append("## Rules about models\n\n| rule | since | sources |\n| --- | --- | --- |")
    parts += [f"| `{r.id}` | {r.since or ''} | {', '.join(r.sources)} |" for r in rules()]
    parts.append(
        "\n## Endpoints\n\nThose of the SDKs. The gateway answers 501 to what it does not serve.\n"
    )
    for package in dict.fromkeys(each.package for each in endpoints()):
        own = [each for each in endpoints() if each.package == package]
        parts.append(f"### {package}\n")
        for state in ("served", "not served"):
            text = ", ".join(f"`{e.method} {e.path}`" for e in own if e.gateway == state)
            parts.append(f"**{state}.** {text or 'none'}\n")
    return "\n".join(parts) + "\n"


def _group(lines: list[Word], status: str, group: str) -> str:
    chosen = [each for each in lines if (each.status, each.group) == (status, group)]
    title = f"{status}, {group}" if group else status
    text = ", ".join(f"`{each.word}`" for each in chosen)
    return (
        f"**{title}.** {chosen[0].why}\n\n{text}\n" if chosen[0].why else f"**{title}.** {text}\n"
    )
