"""Sessions whose requests can be looked at."""

from __future__ import annotations

FILE = '[[rule]]\nid = "mine"\nmodels = ["claude-opus-4-6"]\nsampling = { temperature = "never" }\n'
