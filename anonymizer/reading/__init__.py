"""From a file of any kind to a table, with suggested roles."""
