#!/usr/bin/env python3
"""Compares the imports of each target with its dependencies in Package.swift, and finds reads that can end the process.

GRDB's subscripts end the process if a value has another type, so rows are read in SQLiteRow.swift only. A missing dependency does not build on every machine, and an unused one hides what a target needs.
With --graph it prints the targets of Sources instead: files and lines, the targets they import with the number of importing
files, and the depth of the graph.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
IMPORT = re.compile(
    r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:public |package |internal |private |fileprivate )?import (?:(?:struct|class|enum|func|protocol|var) )?(\w+)",
    re.M)
READ = re.compile(r"\.fetch(?:One|All|Set|Cursor)\(|\brow\[")


def manifest(root=ROOT):
    """Returns the declared internal dependencies, the folder and the type of each target."""
    command = ["swift", "package", "--ignore-lock", "dump-package"]
    package = json.loads(subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE).stdout)
    targets = {}
    for target in package["targets"]:
        folder = target.get("path") or ("Tests/" if target["type"] == "test" else "Sources/") + target["name"]
        names = [dependency["byName"][0] for dependency in target["dependencies"] if "byName" in dependency]
        targets[target["name"]] = (names, ROOT / folder, target["type"])
    return targets


def imports(folder, modules):
    """Returns the number of files of a folder that import each of the modules."""
    counts = {}
    for file in sorted(folder.rglob("*.swift")):
        for module in set(IMPORT.findall(file.read_text())) & modules.keys():
            counts[modules[module]] = counts.get(modules[module], 0) + 1
    return counts


def main():
    targets = manifest()
    modules = {name.replace("-", "_"): name for name in targets}
    used = {name: imports(folder, modules) for name, (_, folder, _) in targets.items()}
    if "--graph" in sys.argv[1:]:
        return graph(targets, used)
    problems = []
    # Tests depend on the executable to have it built.
    executables = {name for name, (_, _, kind) in targets.items() if kind == "executable"}
    for name, (declared, folder, _) in targets.items():
        problems += [f"{name} imports {other} without declaring it" for other in used[name] if other not in declared and other != name]
        # A target of C files has no imports to compare.
        if any(folder.rglob("*.swift")):
            problems += [f"{name} declares {other} without importing it" for other in declared
                         if other not in used[name] and other not in executables]
        problems += [f"{name} declares {other} twice" for other in set(declared) if declared.count(other) > 1]
    # SwiftPM refuses two targets of one name among all packages of a build.
    problems += [f"{name} may be the name of a target elsewhere" for name, (_, _, kind) in targets.items()
                 if kind != "test" and not name.startswith(("ReceiptBridge", "AppStoreReceipts", "receipt-bridge"))]
    for file in sorted((ROOT / "Sources").rglob("*.swift")):
        text = file.read_text()
        if re.search(r"import GRDB$", text, re.M) and file.name != "SQLiteRow.swift":
            problems += [f"{file.relative_to(ROOT)} reads a row with {match}: use SQLiteRow" for match in READ.findall(text)]
    if not any(file.name == "SQLiteRow.swift" and READ.search(file.read_text()) for file in (ROOT / "Sources").rglob("*.swift")):
        problems.append("no read of a row was found in SQLiteRow.swift, so none would be found elsewhere")
    print("\n".join(sorted(problems)) or f"imports: {len(targets)} targets import exactly what Package.swift declares")
    return 1 if problems else 0


def graph(targets, used):
    sources = {name: folder for name, (_, folder, _) in targets.items() if folder.parent.name == "Sources"}

    def depth(name):
        return 1 + max((depth(other) for other in used[name] if other in sources and other != name), default=0)

    arrows = 0
    for name in sorted(sources, key=lambda name: (depth(name), name)):
        files = list(sources[name].rglob("*.swift"))
        lines = sum(len(file.read_text().splitlines()) for file in files)
        others = sorted((other, count) for other, count in used[name].items() if other in sources and other != name)
        arrows += len(others)
        print(f"{depth(name)}  {name} ({len(files)} files, {lines} lines) -> " + ", ".join(f"{other} {count}" for other, count in others))
    print(f"{len(sources)} targets, {arrows} arrows, depth {max(map(depth, sources))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
