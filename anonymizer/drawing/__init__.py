"""Trees and tables in pictures and words."""
