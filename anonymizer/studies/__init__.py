"""What takes many runs, or a whole flow: settings compared in folds, and attacks."""
