"""From a table to codes, and from codes to a tree."""
