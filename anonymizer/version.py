"""The version of Copse, which what is built and installed takes from here; and how Copse is installed."""

VERSION = "0.2.0"


NAME = "copse-anonymizer"
"""What Copse is called where packages are installed; other names there are other people's."""


def how_to_install(extra: str) -> str:
    """Return how Copse is installed with one of its extras, in a sentence: where it is installed, pip keeps it and
    brings the rest; else from its folder."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        version(NAME)
    except PackageNotFoundError:
        return f'In the folder of Copse: pip install ".[{extra}]".'
    return f'Install it: pip install "{NAME}[{extra}]".'
