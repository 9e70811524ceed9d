"""The Release page: what only this page needs."""
