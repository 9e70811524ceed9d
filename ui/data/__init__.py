"""The Data page: what only this page needs."""
