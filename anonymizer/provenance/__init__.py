"""What a release is and where it comes from: its report, and what a report claims, read again."""
