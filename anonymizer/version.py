"""The version of Copse; ``pyproject.toml`` says the same (a test compares them)."""

VERSION = "0.1.0"
