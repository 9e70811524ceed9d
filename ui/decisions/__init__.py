"""What a steward decided, beside the table: kept in the browser, saved as a project file, and taken up again."""
