"""One program for each package that is compared, run by the Python of its environment."""
