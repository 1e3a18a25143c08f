"""What the package costs, as ratios to a floor that is measured in the same run."""
