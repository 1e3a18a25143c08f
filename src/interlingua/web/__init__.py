"""The page at `/`: HTML, CSS and JavaScript modules, no build step."""
