"""The Forest page: what only this page needs."""
