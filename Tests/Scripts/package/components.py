#!/usr/bin/env python3
"""What a release contains of others: packages, the C libraries in them, Swift's runtime, and shared libraries of the system.

    Tests/Scripts/package/components.py --sbom [PROGRAM]    the software bill of materials as CycloneDX
    Tests/Scripts/package/components.py --notices           the licences and notices, for every copy of a release

Needs the checkouts and the Package.resolved of a build. SOURCE_DATE_EPOCH is the date of the bill. Equal for equal commits.
"""
import hashlib
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

SWIFT_LICENCE = "Apache-2.0 WITH Swift-exception"
# C libraries whose sources are in a package: name, package, licence, a file with the version and a pattern for it, a file with the
# licence. The sources of BoringSSL are under the licence of its package.
EMBEDDED = [
    ("boringssl", "swift-nio-ssl", "Apache-2.0", "Sources/CNIOBoringSSL/hash.txt", r"revision (\w+)", None),
    ("llhttp", "swift-nio", "MIT", "Sources/CNIOLLHTTP/include/c_nio_llhttp.h", r"LLHTTP_VERSION_\w+ (\d+)",
     "Sources/CNIOLLHTTP/LICENSE"),
    ("libyaml", "yams", "MIT", None, None, ROOT / "Tests/Scripts/package/licences/libyaml.txt"),
]
ICU_LICENCE = ROOT / "Tests/Scripts/package/licences/ICU.txt"


def resolved():
    """Returns the pins of the last build, with identity, location, version and commit."""
    return [{"name": pin["identity"], "url": pin["location"].removesuffix(".git")} | pin["state"]
            for pin in json.loads((ROOT / "Package.resolved").read_text())["pins"]]


def checkout(package):
    """Returns the folder with the sources of a package, in the version that Package.resolved names."""
    name = package["url"].rsplit("/", 1)[1]
    for folder in [*ROOT.glob(".build-release/static/checkouts"), *ROOT.glob(".build-static/checkouts"), ROOT / ".build/checkouts"]:
        head = subprocess.run(["git", "-C", folder / name, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
        if (folder / name).exists() and head == package["revision"]:
            return folder / name
    sys.exit(f"components: no build has the sources of {name} {package['version']}")


def files(package, *names):
    return [file for name in names for file in sorted(checkout(package).glob(name + "*"))]


def licence(text):
    """Returns the SPDX expression of a licence."""
    if "Apache License" in text:
        return SWIFT_LICENCE if "Runtime Library Exception" in text else "Apache-2.0"
    if "Permission is hereby granted, free of charge" in text:
        return "MIT"
    sys.exit(f"components: a licence that is not known begins with {text[:60]!r}")


def embedded(packages):
    """Returns the C libraries in the packages: name, package, licence, version or None, and the text of the licence or None."""
    for name, package, expression, version, pattern, text in EMBEDDED:
        sources = checkout(packages[package])
        found = re.findall(pattern, (sources / version).read_text()) if version else []
        yield name, package, expression, ".".join(found) or None, (sources / text).read_text() if text else None


def runtime():
    """Returns the version of Swift, whose runtime is linked statically."""
    return re.search(r"Swift version ([\d.]+)", subprocess.run(["swift", "--version"], capture_output=True, text=True).stdout).group(1)


def component(name, version, expression, purl, **more):
    found = {"type": "library", "bom-ref": purl, "name": name, "purl": purl} | ({"version": version} if version else {}) | more
    return found | ({"licenses": [{"expression": expression}]} if expression else {})


def swift_runtime():
    version = runtime()
    return component("swift-runtime", version, SWIFT_LICENCE, f"pkg:generic/swift-runtime@{version}",
                     supplier={"name": "swiftlang", "url": ["https://github.com/swiftlang"]})


def components(program):
    """Returns the components, and what each of them consists of by bom-ref."""
    packages = {package["name"]: package for package in resolved()}
    found, inside = {}, {}
    for name, package in packages.items():
        owner = package["url"].split("/")[-2]
        found[name] = component(
            name, package["version"], licence(files(package, "LICENSE")[0].read_text()),
            f"pkg:swift/{package['url'].removeprefix('https://')}@{package['version']}",
            supplier={"name": owner, "url": [f"https://github.com/{owner}"]},
            # The commit, whose digest covers all of its files.
            hashes=[{"alg": "SHA-1", "content": package["revision"]}],
            externalReferences=[{"type": "vcs", "url": package["url"]}])
    for name, package, expression, version, _ in embedded(packages):
        found[name] = component(name, version, expression, f"pkg:generic/{name}" + (f"@{version}" if version else ""))
        inside[found[package]["bom-ref"]] = [found[name]["bom-ref"]]
    found["swift-runtime"] = swift_runtime()
    found["icu"] = component("icu", None, "Unicode-3.0", "pkg:generic/icu")
    inside[found["swift-runtime"]["bom-ref"]] = [found["icu"]["bom-ref"]]
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", subprocess.run(["readelf", "-d", program], capture_output=True, text=True).stdout) if program else []
    for name in needed:
        found[name] = component(name, None, None, f"pkg:generic/{name}", description="a shared library of the system, which is not included")
    return list(found.values()), inside


def sbom(program=None, parts=None):
    """Returns the bill of materials; with a program, also its digest and the shared libraries that it needs. `parts` are its components,
    if they are not those of the program receipt-bridge."""
    found, inside = (parts, {}) if parts else components(program)
    this = f"pkg:generic/receipt-bridge@{VERSION}"
    contained = {reference for references in inside.values() for reference in references}
    hashes = {"hashes": [{"alg": "SHA-256", "content": hashlib.sha256(Path(program).read_bytes()).hexdigest()}]} if program else {}
    dependencies = [{"ref": this, "dependsOn": [one["bom-ref"] for one in found if one["bom-ref"] not in contained]}]
    dependencies += [{"ref": reference, "dependsOn": references} for reference, references in inside.items()]
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, this + json.dumps([found, hashes]))}",
        "metadata": {
            "timestamp": datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "application", "bom-ref": this, "name": "receipt-bridge", "version": VERSION, "purl": this} | hashes,
        },
        "components": found, "dependencies": dependencies,
    }


def notices():
    """Returns every licence once, with the packages that are under it, and their notices."""
    packages = {package["name"]: package for package in resolved()}
    texts = {}
    for name, package in packages.items():
        for file in files(package, "LICENSE", "NOTICE"):
            texts.setdefault(file.read_text().strip("\n"), []).append(f"{name} {package['version']} ({file.stem})")
    # The licence of Swift's runtime is that of swift-algorithms, word for word.
    swift = files(packages["swift-algorithms"], "LICENSE")[0].read_text().strip("\n")
    texts[swift].append(f"the runtime of Swift {runtime()}")
    for name, package, _, _, text in embedded(packages):
        if text:
            texts.setdefault(text.strip("\n"), []).append(f"{name}, in {package}")
    texts[ICU_LICENCE.read_text().strip("\n")] = ["ICU, in the runtime of Swift"]
    head = "Receipt Bridge contains the packages and libraries below, under these licences.\n"
    return head + "".join(f"\n{'=' * 80}\n{', '.join(names)}\n{'=' * 80}\n\n{text}\n" for text, names in texts.items())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--sbom"] and len(sys.argv) <= 3:
        print(json.dumps(sbom(*sys.argv[2:]), indent=2))
    elif sys.argv[1:] == ["--notices"]:
        print(notices(), end="")
    else:
        sys.exit(__doc__)
