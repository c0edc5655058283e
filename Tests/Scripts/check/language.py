#!/usr/bin/env python3
"""Counts of words in the comments of Swift files, per 10,000 words, the share of comment lines, and file sizes.

    python3 Tests/Scripts/check/language.py [PATH...]      default: Sources

CONTRIBUTING.md has the rules of language. For example, "nil where" and a comment that begins with "What" are counted because a
reader has to decode them: "`nil` if there is none", "A cache of …".

With --columns it only names comment lines of more than 120 columns, which the formatter does not check, and exits with 1 if there
are any. Links, tables and examples may be longer.
"""
import os, re, sys
words = [("if", r"\bif\b"), ("where", r"\bwhere\b"), ("because", r"\bbecause\b"), ("nobody", r"\bnobody\b"), ("somebody", r"\bsomebody\b"),
         ("whoever", r"\bwhoever\b"), ("who", r"\bwho\b"), ("told", r"\btold\b"), ("anew", r"\banew\b"), ("else", r"\belse\b"), ("behind", r"\bbehind\b"),
         ("beside", r"\bbeside\b"), ("is none", r"\bis none\b"), ("of it", r"\bof it\b"), ("taken back", r"\btaken back\b"), ("nil where", r"\bnil where\b"),
         ("learnt", r"\blearnt\b"), ("kept", r"\bkept\b"), ("goes on", r"\b(?:goes|go|went) on\b"), ("for example, e.g.", r"\bfor example\b|\be\.g\.")]
columns = "--columns" in sys.argv
paths = [path for path in sys.argv[1:] if path != "--columns"] or ["Sources"]
lines = comments = 0; blocks = []; sizes = []; wide = []
for path in paths:
    before = len(sizes)
    for folder, _, names in os.walk(path) if os.path.isdir(path) else [(os.path.dirname(path), [], [os.path.basename(path)])]:
        for name in names:
            if not name.endswith(".swift"): continue
            block = []; n = 0
            for line in open(os.path.join(folder, name), encoding="utf8"):
                lines += 1; n += 1
                text = line.strip()
                if len(line) > 121 and re.match(r"///? (?!    |\||https://)", text): wide.append(f"{os.path.join(folder, name)}:{n}")
                if text.startswith("//"): comments += 1; block.append(text.lstrip("/ "))
                elif block: blocks.append(" ".join(block)); block = []
            if block: blocks.append(" ".join(block))
            sizes.append(n)
    if len(sizes) == before: sys.exit(f"{path} has no Swift file")
if columns:
    print("\n".join(f"{place}: the comment is wider than 120 columns" for place in wide) or "comments: at most 120 columns")
    sys.exit(bool(wide))
text = "\n".join(blocks); count = len(text.split())
print(f"{lines} lines, {comments} of comments ({100 * comments / lines:.1f} %), {count} words of comment, {len(blocks)} blocks")
for name, pattern in words:
    k = len(re.findall(pattern, text, re.I)); print(f"{name:20} {k:6} {1e4 * k / count:8.1f}")
for first in ("What", "Whether", "Nil", "Of"):
    k = sum(1 for b in blocks for s in re.split(r"(?<=[.!?:]) +", b) if s.startswith(first + " ")); print(f"{first + ' …':20} {k:6} {1e4 * k / count:8.1f}")
sizes.sort(); print(f"{len(sizes)} files, median {sizes[len(sizes) // 2]} lines, {sum(s <= 40 for s in sizes)} of at most 40, longest {sizes[-1]}, over 450: {sum(s > 450 for s in sizes)}")
