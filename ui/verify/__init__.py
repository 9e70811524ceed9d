"""The Verify page: what only this page needs."""
