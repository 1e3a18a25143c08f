"""API keys, their permissions, and spending caps."""
