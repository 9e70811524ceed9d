"""What stands between a release and the world: what is released by mistake, and what the steward says to it."""
