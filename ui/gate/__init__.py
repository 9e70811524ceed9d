"""The page between tree and release: what only this page needs."""
