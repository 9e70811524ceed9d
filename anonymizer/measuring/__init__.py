"""What a release is still worth: loss, error, distributions, cross-validation."""
