"""A stored conversation on a terminal: the words that an export has, too."""

from interlingua.exports.markdown import clipped, head, markdown, said, title

__all__ = ["clipped", "head", "markdown", "said", "title"]
