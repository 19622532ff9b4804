"""Models of named columns: from a table to features, to a fitted model, to predictions, to disk."""
