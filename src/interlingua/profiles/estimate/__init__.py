"""Estimates the tokens of a prompt, offline.

No vocabulary is used: pieces of text are counted and weighed (`features`), and the overhead of each
provider is learned from recorded usage (`data/coefficients.json`, made by `python -m
tests.profiles.estimate.fit`, which also prints the errors). Good for choosing a model and for
budgets; the provider's count is what is billed.
"""

from interlingua.profiles.estimate.estimator import estimate_input_tokens

__all__ = ["estimate_input_tokens"]
