"""A table in pieces: files to codes, codes to a tree, groups to a folder. The codes of all records stay in memory."""
