"""The same pieces on the workers of a cluster."""
