"""The page for people at `/`: its files, and what only it asks for."""
