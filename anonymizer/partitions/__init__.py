"""A table in pieces, past what fits into memory as one: Parquet files to codes, codes to a tree, groups to a folder."""
