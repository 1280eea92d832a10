"""Adds pages to the site from outside docs/: README becomes the home page, and every file of the repository that a page
links to becomes a page of its own, so that all links stay inside the site."""

import pathlib
import posixpath
import re

from mkdocs.structure.files import File

SITE = pathlib.Path(__file__).parent
ROOT = SITE.parent
# Documents outside docs/, and the pages that they become.
MOVED = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
# Matches code, which is left alone, or a link with its target.
CODE_OR_LINK = re.compile(r"^```.*?^```$|`[^`\n]+`|(\]\()([^)\s#]+)?(#[^)\s]*)?(\))", re.MULTILINE | re.DOTALL)
LANGUAGES = {".h": "cpp", ".cpp": "cpp", ".py": "python", ".cmake": "cmake", ".json": "json", ".yml": "yaml"}
PICTURES = (".png", ".svg")


def page_of(path):
    """The name below docs/ of the page for a path of the repository; None if there is no such file."""
    if path in MOVED:
        return MOVED[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/") if (ROOT / path).is_file() else None
    if not (ROOT / path).exists():
        return None
    if path.endswith(PICTURES):
        return f"source/{path}"
    return f"source/{path.rstrip('/')}{'/index' if (ROOT / path).is_dir() else ''}.md"


def rewritten(text, document, page, found):
    """A document's Markdown with its links leading to pages. `document` is its path in the repository."""

    def link(match):
        opening, target, anchor, closing = match.groups()
        if not target or "://" in target or target.startswith("mailto:"):
            return match.group(0)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(document), target))
        there = page_of(path)
        if there is None:
            raise SystemExit(f"{document}: {target} is not there")
        if there.startswith("source/"):
            found.add(path)
        return opening + posixpath.relpath(there, posixpath.dirname(page) or ".") + (anchor or "") + closing

    return CODE_OR_LINK.sub(link, text)


def source_page(path, found):
    """A file of the repository as a page, or a folder as a list of its files."""
    place = ROOT / path
    page = page_of(path)
    title = f"# {path}\n\n"
    if place.is_dir():
        lines = []
        for entry in sorted(place.iterdir()):
            if entry.is_file() and not entry.name.startswith("."):
                found.add(f"{path}/{entry.name}")
                there = page_of(f"{path}/{entry.name}")
                lines.append(f"- [{entry.name}]({posixpath.relpath(there, posixpath.dirname(page))})")
        return title + "\n".join(lines) + "\n"
    text = place.read_text(errors="replace")
    if place.suffix == ".md":
        return rewritten(text, path, page, found)
    language = LANGUAGES.get(place.suffix, "text")
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall(r"`+", text)), 3)
    return f"{title}{fence}{language}\n{text.rstrip()}\n{fence}\n"


def on_config(config):
    lessons = ["lessons/index.md", *(f"lessons/{page.name}" for page in sorted((ROOT / "docs/lessons").glob("[0-9]*.md")))]
    config.nav = [{"Lessons": lessons} if entry == {"Lessons": "lessons/"} else entry for entry in config.nav]
    return config


def on_files(files, config):
    found, texts = set(), {}
    documents = [*MOVED, *(f"docs/{file.src_uri}" for file in files if file.src_uri.endswith(".md"))]
    for document in documents:
        page = page_of(document)
        texts[page] = rewritten((ROOT / document).read_text(), document, page, found)
    shown = set()
    while found - shown:
        for path in sorted(found - shown):
            shown.add(path)
            page = page_of(path)
            if path.endswith(PICTURES):
                files.append(File.generated(config, page, content=(ROOT / path).read_bytes()))
            else:
                texts[page] = source_page(path, found)
    for page, text in texts.items():
        if file := files.get_file_from_path(page):
            files.remove(file)
        # Search leaves sources out: the reference finds them by the names that they declare, and search is for
        # explanations.
        if page.startswith("source/"):
            text = f"---\nsearch:\n  exclude: true\n---\n{text}"
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "assets/iframe-worker.js", content=(SITE / "iframe-worker.js").read_text()))
    return files
