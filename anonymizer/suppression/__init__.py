"""Records that are left out of a release, so that the boxes of the others are narrower."""
