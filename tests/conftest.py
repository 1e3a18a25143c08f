"""Plugins and settings of the whole suite."""

from hypothesis import settings

pytest_plugins = ["pytester", "tests.plugin_requirements"]

# A law is about values, not about how fast a busy machine computes them.
settings.register_profile("interlingua", deadline=None)
settings.load_profile("interlingua")
