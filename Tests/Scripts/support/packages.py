"""Packages of PyPI for one script."""
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CRYPTOGRAPHY = "cryptography==48.0.0"


def use(name, *packages):
    """Goes on with the running script in .build/NAME, an environment that has these packages. It is made if it is missing or has others."""
    folder, wanted = ROOT / ".build" / name, "\n".join(packages)
    if Path(sys.prefix).resolve() == folder.resolve():
        return
    python, complete = folder / "bin/python", folder / "complete"
    if not complete.exists() or complete.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        if subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]).returncode:
            sys.exit(f"these packages cannot be installed from PyPI: {', '.join(packages)}")
        complete.write_text(wanted)
    os.execv(python, [python, *sys.argv])
