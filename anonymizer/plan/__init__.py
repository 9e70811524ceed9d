"""The decisions of a release in one file that people read, compare and review."""
