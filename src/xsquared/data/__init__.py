"""Data to train on: problems by name, shipped tables, samples of a target."""
