"""How a table comes in: dropped, chosen from the samples, or taken from what the operator lists."""

import os
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from anonymizer.cli.engine import look_how_large
from anonymizer.errors import AnonymizerError, ReadError
from anonymizer.partitions.places import DELIMITED, PARQUET
from anonymizer.reading.files import endings
from anonymizer.reading.samples import SAMPLES
from ui.data.databases import from_database
from ui.data.pieces import begin_opening, opening
from ui.data.progress import ReadingBar
from ui.server.framework import drop_uploads
from ui.workspace import Workspace

FOLDER_VARIABLE = "COPSE_DATA_FOLDER"
MOST_LISTED = 500
IN_SIGHT = 2
"""Samples that are not folded."""


def chooser(ws: Workspace, beside: Callable[[], None] | None = None) -> None:
    """Draw the ways in, and another one beside them; runs the script again as soon as one of them was taken."""
    left, right = st.columns([7, 4], gap="large")
    with left:
        upload(ws)
        folder = allowed_folder()
        if folder is not None:
            from_folder(ws, folder)
        from_database(ws)
    with right:
        if beside is not None:
            beside()
        samples(ws)


def upload(ws: Workspace) -> None:
    """Draw where a file is dropped. The widget is replaced after each file, so that the bytes are held once only."""
    file = st.file_uploader(
        "Drop a table here: CSV, JSON, Parquet, Excel, SPSS, Stata or SAS",
        type=endings(),
        key=f"upload {ws.edition}",
    )
    if file is not None:
        drop_uploads()
        take(ws, file.getvalue(), file.name)


def samples(ws: Workspace) -> None:
    """Draw the built-in samples: those most like a steward's own table, and the others folded."""
    names = list(SAMPLES)
    with st.container(border=True, gap="small"):
        st.markdown("**Or try a sample**")
        for name in names[:IN_SIGHT]:
            sample_line(ws, name)
        with st.expander(f"{len(names) - IN_SIGHT} more samples", key="more samples"):
            for name in names[IN_SIGHT:]:
                sample_line(ws, name)


def sample_line(ws: Workspace, name: str) -> None:
    """Draw a sample with its button."""
    sample = SAMPLES[name]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(gap=None):
            st.markdown(f"**{sample.title}**" + ("  :gray-badge[made up]" if sample.synthetic else ""))
            st.caption(sample.description)
        if st.button("Use", key=f"sample {name}", help=f"Use the sample: {sample.title}"):
            with st.spinner("Making the sample …"):
                ws.bring_sample(name)
            st.rerun()


def from_folder(ws: Workspace, folder: Path) -> None:
    """Draw the files and folders of the operator's folder, for tables too big for the browser. Folders and large
    files are opened in pieces."""
    if opening(ws):
        return
    names = [*folders_in(folder), *files_in(folder)]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Or a file on the server",
            names,
            index=None,
            placeholder="Choose a file" if names else "The folder holds no table",
            format_func=lambda name: f"{name} (all of its files)" if name.endswith("/") else name,
            help="The operator of this server allows the files of one folder. A folder in it, or a large file, is "
            "opened in pieces, of any size.",
        )
        if st.button("Read it", disabled=name is None) and name is not None:
            try:
                path = allowed_folder_in(folder, name) if name.endswith("/") else allowed_file(folder, name)
                if path.is_dir() or look_how_large(path):
                    begin_opening(ws, path, name.rstrip("/"), folder)
                    st.rerun()
            except AnonymizerError as error:
                ws.failure = error
                st.rerun()
            take(ws, path, path.name)


def take(ws: Workspace, source: bytes | Path, name: str) -> None:
    """Read the file with a progress bar and a Cancel, then draw the page again."""
    n_bytes = len(source) if isinstance(source, bytes) else source.stat().st_size
    ws.edition += 1  # the upload is dealt with, whatever comes of it
    bar = ReadingBar(ws, name, n_bytes)
    ws.bring(source, name, progress=bar.progress, cancelled=bar.cancelled)
    st.rerun()


def allowed_folder() -> Path | None:
    """Return the folder whose files may be read on the server: the operator's environment variable; off by default."""
    named = os.environ.get(FOLDER_VARIABLE, "").strip()
    folder = Path(named).expanduser() if named else None
    return folder.resolve() if folder is not None and folder.is_dir() else None


def files_in(folder: Path) -> list[str]:
    """Return the names of the tables in and below the folder, relative to it; links that lead outside are left out."""
    names = []
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower().lstrip(".") in endings() and path.is_file() and path.resolve().is_relative_to(folder):
            names.append(path.relative_to(folder).as_posix())
        if len(names) == MOST_LISTED:
            break
    return names


def allowed_file(folder: Path, name: str) -> Path:
    """Return the file of this name in the folder; raises :class:`ReadError` when it lies outside or is not there."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise ReadError(
            f"The file {name!r} is not in the folder that this server allows.",
            value=name,
            remedy="Choose one of the files listed.",
        )
    return path


def folders_in(folder: Path) -> list[str]:
    """Return the names of the folders below the folder that hold tables, relative to it, each with a slash behind it;
    links that lead outside are left out."""
    names = set()
    for path in sorted(folder.rglob("*")):
        if path.name.lower().endswith((*PARQUET, *DELIMITED)) and path.resolve().is_relative_to(folder):
            names |= {f"{parent.as_posix()}/" for parent in path.relative_to(folder).parents if parent.name}
        if len(names) >= MOST_LISTED:
            break
    return sorted(names)


def allowed_folder_in(folder: Path, name: str) -> Path:
    """Return the folder of this name in the folder; raises :class:`ReadError` when it lies outside or is not there."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_dir():
        raise ReadError(
            f"The folder {name!r} is not in the folder that this server allows.",
            value=name,
            remedy="Choose one of those listed.",
        )
    return path
