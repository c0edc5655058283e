#!/usr/bin/env python3
"""Writes the manual page, mdoc, from what the tool says about itself.

    python3 docs/manual.py .build/release/receipt-bridge >docs/receipt-bridge.1
"""
import json
import re
import subprocess
import sys

EXIT_CODES = [
    ("0", "all well; verify: status 0 or 21006"),
    ("1", "done, but some inputs are not verified, refused, unknown or different"),
    ("2", "usage, configuration, or a file that cannot be read"),
    ("3", "stopped by a limit, a signal or a temporary failure; run the same command again to resume"),
    ("70", "a defect of the program"),
]


def text(words):
    """Nothing of it is a macro, an escape or a request."""
    lines = []
    # A sentence a line, as mdoc has it.
    words = re.sub(r"([.!?]) +(?=[A-Z`])", r"\1\n", words)
    for line in words.replace("\\", "\\e").replace("-", "\\-").splitlines():
        if line.startswith("  "):
            # An example: a line by itself, as it is typed.
            lines.append(f".Dl {line.strip()}")
            continue
        if line.startswith((".", "'")):
            line = "\\&" + line
        lines.append(line if line.strip() else ".Pp")
    return "\n".join(lines)


def item(argument):
    value = argument.get("valueName", "value")
    repeats = " ..." if argument.get("isRepeating") else ""
    if argument["kind"] == "positional":
        return f".It Ar {text(value)}{repeats}"
    names = [("\\-\\-" if name["kind"] == "long" else "\\-") + text(name["name"]) for name in argument["names"]]
    given = f" Ar {text(value)}{repeats}" if argument["kind"] == "option" else ""
    opposite = f" Ns / Ns Sy \\-\\-{text(argument['opposite'])}" if "opposite" in argument else ""
    return ".It Sy " + " , Sy ".join(names) + opposite + given


def paired(shown):
    """A flag and its opposite have one abstract, which is the flag's: they are one item."""
    result = []
    for argument in shown:
        name, before = argument.get("valueName"), result[-1] if result else {}
        if argument["kind"] == before.get("kind") == "flag" and name == f"no-{before['valueName']}":
            result[-1] = before | {"opposite": name}
        else:
            result.append(argument)
    return result


def arguments(command, without=("help", "version")):
    shown = [
        argument
        for argument in command.get("arguments", [])
        if argument.get("shouldDisplay") and argument.get("valueName") not in without
    ]
    if not shown:
        return
    print(".Bl -tag -width Ds -compact")
    for argument in paired(shown):
        print(item(argument))
        print(text(argument.get("abstract", "")))
        more = []
        if argument.get("allValues"):
            more.append("One of " + ", ".join(argument["allValues"]) + ".")
        if argument.get("defaultValue") and argument["kind"] == "option":
            more.append(f"Default: {argument['defaultValue']}.")
        if more:
            print(text(" ".join(more)))
    print(".El")


def section(command, path):
    if not command.get("shouldDisplay", True) or command["commandName"] == "help":
        return
    path = path + [command["commandName"]]
    subcommands = command.get("subcommands", [])
    if not subcommands:
        print(f".Ss {text(' '.join(path))}")
        for key in ("abstract", "discussion"):
            if command.get(key):
                print(text(command[key]))
                print(".Pp")
        arguments(command)
    for subcommand in subcommands:
        section(subcommand, path)


def main():
    tool = sys.argv[1]
    command = json.loads(subprocess.run([tool, "--experimental-dump-help"], capture_output=True, check=True).stdout)["command"]
    name = command["commandName"]
    print(f".\\\" Made by docs/manual.py.\n.Dd November 21, 2026\n.Dt {name.upper()} 1\n.Os\n.Sh NAME\n.Nm {name}")
    print(f".Nd {text(command['abstract'].rstrip('.')[0].lower() + command['abstract'].rstrip('.')[1:])}")
    print(".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar options\n.Nm\n.Ar command\n.Sy \\-\\-help\n.Sh COMMANDS")
    for subcommand in command["subcommands"]:
        section(subcommand, [])
    print(".Sh ENVIRONMENT\n.Bl -tag -width Ds -compact\n.It Ev RECEIPT_BRIDGE_CONFIG\nThe configuration file,")
    print("where no option names one.\n.It Ev HTTPS_PROXY\nThe proxy for requests to Apple.\n.El")
    print(".Sh EXIT STATUS\n.Bl -tag -width Ds -compact")
    for code, meaning in EXIT_CODES:
        print(f".It {code}\n{text(meaning)}")
    print(".El")


main()
