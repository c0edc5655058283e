#!/usr/bin/env python3
"""Checks what a release consists of: one version everywhere, a section in the changelog, exact versions of all packages.

With --version it prints the version, whose only place is ReceiptBridge.swift: between releases the next one with `-dev`. Needs the
Package.resolved of a build.
"""
import json
import re
import sys

from components import ROOT, VERSION, resolved

CHANGES = (ROOT / "CHANGELOG.md").read_text()
# The version of the images in the examples.
RELEASED = re.search(r"^## \[(\d.*?)\]", CHANGES, re.M).group(1)


def declared():
    """Returns the exact versions in Package.swift by identity, which is the last part of the URL in lower case."""
    text = (ROOT / "Package.swift").read_text()
    found = re.findall(r'^    \("([\w.-]+/[\w.-]+)", "([\d.]+)", "[\w ]+"\),$', text, re.M)
    return {path.split("/")[1].lower(): version for path, version in found}


def main():
    problems = []
    if json.loads((ROOT / "docs/openapi.json").read_text())["info"]["version"] != VERSION:
        problems.append(f"docs/openapi.json has another version than {VERSION}")
    section = "Unreleased" if VERSION.endswith("-dev") else VERSION
    if f"\n## [{section}]" not in CHANGES:
        problems.append(f"CHANGELOG.md has no section [{section}]")
    for file in sorted((ROOT / "docs/deploy/kubernetes").glob("*.yaml")):
        if any(tag != RELEASED for tag in re.findall(r"image: receipt-bridge:(\S+)", file.read_text())):
            problems.append(f"{file.name} has the image of another version than {RELEASED}")
    versions, packages = declared(), resolved()
    for package in packages:
        if versions.get(package["name"]) != package["version"]:
            problems.append(f"Package.swift has {versions.get(package['name'], 'no version')} of {package['name']}, "
                            f"but the build has {package['version']}")
    for name in sorted(versions.keys() - {package["name"] for package in packages}):
        problems.append(f"Package.swift has a version of {name}, which the build does not need")
    print("\n".join(problems) or f"release: version {VERSION}, {len(packages)} packages with exact versions")
    return 1 if problems else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        print(VERSION)
    else:
        sys.exit(main())
