"""The Tree page: what only this page needs."""
