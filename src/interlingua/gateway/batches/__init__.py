"""Batches of OpenAI's and Anthropic's API in front of any provider, and the files of them."""
