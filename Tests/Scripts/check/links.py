#!/usr/bin/env python3
"""Checks the documents: every relative link leads to a file and a heading, every source file that is named exists, and the README
has at most 900 words. In every file, each rule of the Makefile and each script below Tests/Scripts that is named exists, and something
calls each script.

A source file is named by the end of its path, for example `Policy/AnswerPolicy.swift`.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
# In code: in a span, at the begin of a command in a block, at the end of a message; or `test-…` and the like anywhere.
MAKE = re.compile(r"(?:`|^\$ |&& |-- |: |exec )make ([a-z][a-z-]+)[`\s\"]|\bmake ((?:test|bench|docs)-[a-z-]+)", re.M)
SCRIPT = re.compile(r"\bTests/Scripts/[\w/-]+\.(?:py|sh|txt|json|supp)")
TEXT = (".md", ".py", ".sh", ".swift", ".yml", ".yaml", ".txt", ".supp", "Dockerfile", "Makefile", ".ci/run", ".ci/nightly", ".ci/release", ".ci/set-up")
SOURCE = re.compile(r"^[\w+./-]+\.(?:swift|py|sh|yml|json)$")


def anchors(file):
    """Returns the anchors of the headings, as GitHub makes them."""
    found = set()
    for line in file.read_text().splitlines():
        match = re.match(r"#{1,6} (.*)", line)
        if match:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1)).lower()
            found.add(re.sub(r"[^\w\- ]", "", text).replace(" ", "-"))
    return found


def main():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    files = [name for name in files if name and (ROOT / name).exists()]
    ends = {"/".join(name.split("/")[start:]) for name in files for start in range(name.count("/") + 1)}
    documents = [ROOT / name for name in files if name.endswith(".md") and not name.startswith("Receipts/")]
    rules = set(re.findall(r"^([a-z][a-z-]*)(?: [a-z-]+)*:", (ROOT / "Makefile").read_text(), re.M))
    problems = []
    links = sources = 0
    for document in documents:
        text = document.read_text()
        place = document.relative_to(ROOT)
        for target in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.S)):
            if "://" in target or target.startswith("mailto:"):
                continue
            links += 1
            path, _, anchor = target.partition("#")
            file = (document.parent / path).resolve() if path else document
            if not file.exists():
                problems.append(f"{place}: no file {target}")
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                problems.append(f"{place}: no heading {target}")
        if document.name in {"README.md", "ARCHITECTURE.md", "threat-model.md", "CONTRIBUTING.md"} or "decisions" in document.parts:
            for code in CODE.findall(text):
                if SOURCE.match(code) and ("/" in code or code.endswith(".swift")):
                    sources += 1
                    if code not in ends and not code.startswith("/"):
                        problems.append(f"{place}: no source file {code}")
    named = scripts = 0
    for name in files:
        if not name.endswith(TEXT) or name.startswith("Receipts/"):
            continue
        text = (ROOT / name).read_text()
        found = [rule or other for rule, other in MAKE.findall(text)]
        named += len(found)
        problems += [f"{name}: the Makefile has no rule {rule}" for rule in found if rule not in rules]
        found = SCRIPT.findall(text)
        scripts += len(found)
        problems += [f"{name}: no script {script}" for script in found if script not in files]
    # Measurements are called by whoever measures.
    callers = {name: (ROOT / name).read_text() for name in files
               if name == "Makefile" or name.startswith((".ci/", "Tests/")) and name.endswith((".py", ".sh", ".swift", "run", "nightly", "release"))}
    for script in map(Path, callers):
        called = re.compile(rf"/{re.escape(script.name)}\b|\"{re.escape(script.name)}\"|(?:import|from) {re.escape(script.stem)}\b")
        if str(script).startswith(("Tests/Scripts/check/", "Tests/Scripts/package/", "Tests/Scripts/soak/")) and not any(
                called.search(text) for other, text in callers.items() if other != str(script)):
            problems.append(f"{script}: nothing calls it")
    if not all((links, sources, named, scripts)):
        problems.append(f"found {links} links, {sources} source files, {named} rules of the Makefile and {scripts} scripts")
    words = len((ROOT / "README.md").read_text().split())
    if words > 900:
        problems.append(f"README.md: {words} words")
    print("\n".join(problems) or f"documents: {links} links, {sources} source files, {named} rules of the Makefile and {scripts} scripts resolve")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
