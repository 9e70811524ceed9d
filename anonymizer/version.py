"""The version of Copse, which what is built and installed takes from here; and how Copse is installed."""

VERSION = "0.2.0"


def how_to_install(extra: str) -> str:
    """Return how Copse is installed with one of its extras, in a sentence: from its folder or from its own wheel. Its
    bare name is another project's in the index that ``pip`` asks."""
    wheel = f"./copse-{VERSION}-py3-none-any.whl"
    return f'In the folder of Copse: pip install ".[{extra}]"; from its wheel: pip install "{wheel}[{extra}]".'
