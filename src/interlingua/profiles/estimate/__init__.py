"""Estimates the tokens of a prompt, offline.

No vocabulary is used: pieces of text are counted and weighed (`features`), and what a provider adds
around them is learned from recorded usage (`data/coefficients.json`, made by
`python -m tests.profiles.estimate.fit`, which also prints how far off it is). Good for choosing a
model and for budgets; the bill is what the provider reports.
"""

from interlingua.profiles.estimate.estimator import estimate_input_tokens

__all__ = ["estimate_input_tokens"]
