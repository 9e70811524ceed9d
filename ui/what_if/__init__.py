"""The What if page: what only this page needs."""
