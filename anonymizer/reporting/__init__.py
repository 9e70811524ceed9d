"""What was done and found: for machines as JSON, for people as HTML and PDF."""
