"""Attacks on a table or a release, tried out: the three criteria of anonymity, and looking a person up."""
