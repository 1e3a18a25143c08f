"""Tools for work on the package; not part of the wheel."""
