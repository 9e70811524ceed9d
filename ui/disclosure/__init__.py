"""The Disclosure page: what only this page needs."""
