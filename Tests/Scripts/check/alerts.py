#!/usr/bin/env python3
"""Checks the alert rules in docs/prometheus-alerts.yml with the series of alerts.txt (needs promtool of Prometheus, which is
installed from Debian if it is missing).

    python3 Tests/Scripts/check/alerts.py           promtool checks the rules and evaluates the cases
    python3 Tests/Scripts/check/alerts.py --list    only checks that alerts.txt has cases for each alert, and for nothing else

alerts.txt has a block for each case. The prefix `receipt_bridge_` of metrics is left out:

    ReceiptBridgeNotReady: One of two servers is not ready            the alert and what happens
    ready{instance="one:8081"} 0x20                                   series in the notation of `promtool test rules`, a sample a minute,
                                                                      or an hour after a line `interval 1h`
    @4m                                                               at this time the alert does not fire
    @6m one:8081 is not ready for requests | instance="one:8081"      at this time it fires, with this summary and these labels

Each alert must fire in one of its cases and not fire at another time, and promtool must load as many rules as the document names, so
rules that were not loaded fail.
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
RULES = ROOT / "docs/prometheus-alerts.yml"
CASES = Path(__file__).with_name("alerts.txt")
FOREIGN = ("up{", "process_")


def rules():
    """Returns the severity of each alert. An alert without one, or a second one of the same name, is an error."""
    text = RULES.read_text()
    found = dict(re.findall(r"- alert: (\w+)\n(?:(?! *- ).*\n)*? +labels: \{severity: (\w+)\}", text))
    if not found or len(found) != text.count("- alert:"):
        sys.exit(f"prometheus-alerts.yml: {text.count('- alert:')} alerts, of which {len(found)} have a name of their own and a severity")
    return found


def promtool(*words):
    """Runs promtool and returns what it prints."""
    done = subprocess.run(["promtool", *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"promtool {words[0]}: {done.stdout}{done.stderr}")
    return done.stdout


def expectation(line, alert, severity):
    """Reads a line that begins with @."""
    time, _, rest = line[1:].partition(" ")
    test = {"eval_time": time, "alertname": alert, "exp_alerts": []}
    for alerting in filter(None, rest.split(" ; ")):
        summary, _, labels = alerting.partition(" | ")
        test["exp_alerts"].append({
            "exp_labels": dict(re.findall(r'(\w+)="([^"]*)"', labels), severity=severity),
            "exp_annotations": {"summary": summary, "runbook_url": f"docs/RUNBOOK.md#{alert.lower()}"}})
    return test


def cases(severities):
    """Returns the cases in promtool's form."""
    for block in re.sub(r"(?m)^#.*\n", "", CASES.read_text()).strip().split("\n\n"):
        head, *lines = block.split("\n")
        alert, _, name = head.partition(": ")
        if alert not in severities:
            sys.exit(f"alerts.txt: there is no alert {alert}")
        interval = lines.pop(0).split(" ")[1] if lines[0].startswith("interval ") else "1m"
        series = [line.rsplit("} ", 1) for line in lines if not line.startswith("@")]
        yield alert, {
            "name": f"{alert}: {name}", "interval": interval,
            "input_series": [
                {"series": ("" if name.startswith(FOREIGN) else "receipt_bridge_") + name + "}", "values": values}
                for name, values in series],
            "alert_rule_test": [
                expectation(line, alert, severities[alert]) for line in lines if line.startswith("@")]}


def main():
    severities = rules()
    found = list(cases(severities))
    outcomes = {(alert, bool(test["exp_alerts"])) for alert, case in found for test in case["alert_rule_test"]}
    missing = [f"{alert} has no case in which it {word}" for alert in severities
               for fires, word in ((True, "fires"), (False, "does not fire")) if (alert, fires) not in outcomes]
    if missing:
        sys.exit("alerts.txt: " + "; ".join(missing))
    if "--list" in sys.argv:
        return
    if not shutil.which("promtool"):
        subprocess.run([ROOT / ".ci/set-up", "prometheus"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        # JSON is YAML.
        tests = Path(folder, "tests.yml")
        tests.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m",
                                     "tests": [case for _, case in found]}))
        loaded = re.search(r"(\d+) rules found", promtool("check", "rules", str(RULES)))
        if not loaded or int(loaded[1]) != len(severities):
            sys.exit(f"promtool loaded {loaded[1] if loaded else 'no'} rules, and the document has {len(severities)}")
        promtool("test", "rules", str(tests))
    print(f"{len(found)} cases of {len(severities)} alerts")


if __name__ == "__main__":
    main()
