"""A table as a sample of a population: how often keys occur there, and what that means for the risk of its records."""
