"""One folder per wire format, and what they share. Called, this package gives their names."""

from interlingua.callable_module import let_call


def _names() -> list[str]:
    from interlingua.dialects.registry import dialects

    return dialects()


let_call(__name__, "_names")
