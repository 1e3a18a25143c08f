"""The page that the gateway shows to people: files for a browser, and no code of ours besides."""
