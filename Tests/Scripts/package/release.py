#!/usr/bin/env python3
"""Checks what a release consists of: one version everywhere, a section in the changelog, exact versions of all packages.

With --version it prints the version, whose only place is ReceiptBridge.swift: between releases the next one with `-dev`. With --sbom it prints the software bill of materials
as CycloneDX; SOURCE_DATE_EPOCH is its date. Needs the Package.resolved of a build.
"""
import json
import os
import re
import subprocess
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VERSION = re.search(r'static let version = "(.*?)"', (ROOT / "Sources/receipt-bridge/ReceiptBridge.swift").read_text()).group(1)

CHANGES = (ROOT / "CHANGELOG.md").read_text()
# The version of the images in the examples.
RELEASED = re.search(r"^## \[(\d.*?)\]", CHANGES, re.M).group(1)


def declared():
    """Returns the exact versions in Package.swift by identity, which is the last part of the URL in lower case."""
    text = (ROOT / "Package.swift").read_text()
    found = re.findall(r'url: "https://github\.com/([\w.-]+/[\w.-]+)", exact: "([\d.]+)"', text)
    found += re.findall(r'^    \("([\w.-]+/[\w.-]+)", "([\d.]+)", "\w+"\),$', text, re.M)
    return {path.split("/")[1].lower(): version for path, version in found}


def resolved():
    """Returns the pins of the last build, with identity, location and version."""
    return [{"name": pin["identity"], "url": pin["location"].removesuffix(".git"), "version": pin["state"].get("version")}
            for pin in json.loads((ROOT / "Package.resolved").read_text())["pins"]]


def component(name, version, purl, **more):
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl} | more


def swift():
    """Returns the component of Swift's runtime, which is linked statically; none without Swift."""
    found = re.search(r"Swift version ([\d.]+)", subprocess.run(["swift", "--version"], capture_output=True, text=True).stdout)
    return [component("swift-runtime", found.group(1), f"pkg:generic/swift-runtime@{found.group(1)}")] if found else []


def packages():
    """Returns the components of the program: the packages, and Swift's runtime."""
    return [*(component(package["name"], package["version"],
                        f"pkg:swift/{package['url'].removeprefix('https://')}@{package['version']}",
                        externalReferences=[{"type": "vcs", "url": package["url"]}])
              for package in resolved()), *swift()]


def sbom(components):
    """Returns the bill of materials. Equal for equal commits."""
    this = f"pkg:generic/receipt-bridge@{VERSION}"
    dependencies = [{"ref": this, "dependsOn": [component["bom-ref"] for component in components]}]
    content = json.dumps(components)
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, this + content)}",
        "metadata": {
            "timestamp": datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "application", "bom-ref": this, "name": "receipt-bridge", "version": VERSION, "purl": this},
        },
        "components": components, "dependencies": dependencies,
    }


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
    versions, pins = declared(), resolved()
    for package in pins:
        if versions.get(package["name"]) != package["version"]:
            problems.append(f"Package.swift has {versions.get(package['name'], 'no version')} of {package['name']}, "
                            f"but the build has {package['version']}")
    for name in sorted(versions.keys() - {package["name"] for package in pins}):
        problems.append(f"Package.swift has a version of {name}, which the build does not need")
    print("\n".join(problems) or f"release: version {VERSION}, {len(pins)} packages with exact versions")
    return 1 if problems else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        print(VERSION)
    elif sys.argv[1:] == ["--sbom"]:
        print(json.dumps(sbom(packages()), indent=2))
    else:
        sys.exit(main())
