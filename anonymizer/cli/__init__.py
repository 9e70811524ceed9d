"""The terminal: one module a command, and the options that commands share."""
