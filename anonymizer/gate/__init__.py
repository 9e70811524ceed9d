"""What stands between a release and the world: what was kept by mistake, and what the steward says to it."""
