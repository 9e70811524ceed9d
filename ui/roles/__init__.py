"""The Roles page: what only this page needs."""
