"""What tests of pages share: nothing is looked for twice among the packages that are installed."""

import functools
from collections.abc import Iterator

import pytest
from streamlit.components.v2 import manifest_scanner


@pytest.fixture(scope="session", autouse=True)
def one_scan() -> Iterator[None]:
    """Streamlit reads the metadata of every installed package for each page that a test opens, a server once."""
    scan = functools.cache(manifest_scanner.scan_component_manifests)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        yield
