"""The version of Copse; what is built and installed takes it from here."""

VERSION = "0.2.0"
