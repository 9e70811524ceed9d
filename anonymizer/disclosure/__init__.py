"""The disclosure of a published tree (Z10): its exposure, its repair, and the file that leaves."""
