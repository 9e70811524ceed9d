"""Every promise, computed again from the released cells: this room knows nothing of trees, nor of how a release is
made.
"""
