"""From a table or a query of a database to a table, and from a release to a new table there."""
