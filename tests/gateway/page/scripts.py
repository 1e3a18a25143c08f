"""Scripts that somebody may say, and how to see that none has run."""

from __future__ import annotations

from itertools import islice, product
from typing import Any

COUNT = 300
RUN = "window.ran=1"
OUTSIDE = "http://198.51.100.7/x"
AROUND = (
    *("{}", "\"'>{}", "</p></article>{}", "-->{}", "]]>{}", "</textarea>{}", "</script>{}"),
    *("${{{}}}", "{{{{{}}}}}", "`{}`", "\u202e{}", "%3C{}", "&lt;{}", "![a]({})", "\\x3c{}"),
)
INSIDE = (
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<iframe src=javascript:parent.{RUN}></iframe>",
    f"<details open ontoggle={RUN}>x</details>",
    f"<input autofocus onfocus={RUN}>",
    f"<a href='javascript:{RUN}'>x</a>",
    f"javascript:{RUN}",
    f"<style>@import '{OUTSIDE}';</style>",
    f"<link rel=stylesheet href={OUTSIDE}>",
    f"<img src={OUTSIDE}>",
    f"<meta http-equiv=refresh content='0;url={OUTSIDE}'>",
    f"<base href={OUTSIDE}>",
    f"<form action={OUTSIDE}><button>x</button></form>",
    f"<object data={OUTSIDE}></object>",
    f"<video><source onerror={RUN}></video>",
    f"<math><mtext><img src=x onerror={RUN}></mtext></math>",
    f"<template><script>{RUN}</script></template>",
)
TAGS = (
    *("img", "svg", "video", "audio", "body", "iframe", "details", "input", "select", "marquee"),
    *("object", "embed", "math", "form", "button", "textarea", "style", "link", "a", "x"),
)
HANDLERS = (
    *("onload", "onerror", "onfocus", "ontoggle", "onclick", "onpointerover", "onanimationstart"),
    *("onbegin", "onstart", "onpageshow"),
)
FORMS = (
    "<{tag} {handler}={run}>",
    "<{tag}/{handler}='{run}'/src=x autofocus open>",
    '<{tag}\n{handler}\n=\n"{run}" style=animation-name:x>',
    "<{tag} {handler}=&#119;indow.ran=1>",
)
STRANGE = (
    "script, iframe, object, embed, svg:not(.picture, .icon, .chart), style, link, base, video,"
    " math, template, img, form"
)


def payloads(count: int = COUNT) -> list[str]:
    """The usual ones, then as many more as are wanted, each another one."""
    usual = (around.format(inside) for inside, around in product(INSIDE, AROUND))
    made = (
        around.format(form.format(tag=tag, handler=handler.upper() if at % 2 else handler, run=RUN))
        for at, (form, around, handler, tag) in enumerate(product(FORMS, AROUND, HANDLERS, TAGS))
    )
    return [*islice(usual, count), *islice(made, max(count - COUNT, 0))]


def unharmed(page: Any, images: int = 0) -> None:
    assert page.evaluate("window.ran") is None
    assert page.locator("main").locator(STRANGE.replace(", form", "")).count() == images
    assert page.locator("main form").count() <= 1, "our own"


def letters(texts: list[str]) -> list[str]:
    """Texts without the marks that Markdown may take out; with a link, of which the address goes,
    nothing is left."""
    return ["" if "](" in text else "".join(filter(str.isalnum, text)) for text in texts]


def safe_links(page: Any) -> bool:
    """Whether all links in the page lead within it, or plainly to another page in another tab."""
    return bool(
        page.locator("main a").evaluate_all(
            r"""all => all.every((each) => /^(#|\/(?!\/))/.test(each.getAttribute("href")) || (
                /^(https?:|mailto:)/.test(each.href) && each.rel.includes("noopener")
                && each.target === "_blank"))"""
        )
    )
