"""The Evaluate page: what only this page needs."""
