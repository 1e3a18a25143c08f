"""Sessions on their way to people: as a page in one file, as Markdown, as lines."""
