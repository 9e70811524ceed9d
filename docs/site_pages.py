"""The pages of the documentation site that are made when it is built: the start from ``README.md``, one a command.

MkDocs calls what is named ``on_...``. Links that lead out of the site, as to a source file, are words there.
"""

import re
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def command_pages() -> dict[str, str]:
    """Return a page for each command by its name: what it does, its examples, and every option."""
    from anonymizer.cli.commands import COMMANDS, commands
    from anonymizer.cli.examples import EXAMPLES

    pages = {}
    for name, command in COMMANDS.items():
        parsers = next(action for action in commands(name)._actions if isinstance(action.choices, dict)).choices
        examples = "\n".join(f"{one.line}  # {one.words}" for one in EXAMPLES[name])
        options = parsers[name].help_text(whole=True).partition("\nexamples:")[0]
        words = f"{command.words[0].upper()}{command.words[1:]}."
        pages[name] = f"# copse {name}\n\n{words}\n\n```bash\n{examples}\n```\n\n```text\n{options.strip()}\n```\n"
    return pages


def start_page() -> str:
    """Return the first page: ``README.md``, with links from the folder of the site."""
    return (ROOT / "README.md").read_text("utf-8").replace("](docs/", "](")


def on_config(config: Any) -> Any:
    """Name the page of each command in the contents."""
    for item in config["nav"]:
        if "Commands" in item:
            item["Commands"] = [{f"copse {name}": f"commands/{name}.md"} for name in command_pages()]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made."""
    from mkdocs.structure.files import File

    pages = {"index.md": start_page()} | {f"commands/{name}.md": text for name, text in command_pages().items()}
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return a page in which links out of the site are words."""
    folder = PurePosixPath(page.file.src_uri).parent

    def link(match: re.Match[str]) -> str:
        target = match[3].partition("#")[0]
        if not target or "://" in target or files.get_file_from_path(in_folder(folder, target)):
            return match[0]
        return match[2]

    return LINK.sub(link, markdown)


def in_folder(folder: PurePosixPath, target: str) -> str:
    """Return the path that a link from a folder leads to, from the folder of the site."""
    parts: list[str] = []
    for part in (folder / target).parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
