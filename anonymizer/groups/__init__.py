"""From a scored tree to groups that keep every limit: scores, limits, pruning, cuts below groups, the baselines."""
