#!/usr/bin/env python3
"""Tests the pages in a browser: `page.py FOLDER`, which browser.sh calls. The folder contains comparison.html, status.html, migration.html and customers.html.

They are the samples of ComparisonPageTests, StatusPageTests, ReportTests and CustomerPageTests. Screenshots are written to the folder.
"""

import base64
import http.server
import json
import os
import pathlib
import sys
import threading
import time

from devtools import Browser

PLACES = "#entries .places > li"
SHOWN = f"""[...document.querySelectorAll('{PLACES}')].filter(place => place.checkVisibility())
  .map(place => place.closest('tr').dataset.rule)"""
RECEIPTS = """[...document.querySelectorAll('#documents .receipt')].filter(one => one.checkVisibility())
  .map(one => one.querySelector('summary code').textContent)"""
STATUS = "document.getElementById('shown').textContent"
WORDS = (pathlib.Path(__file__).parent / "words.js").read_text()
# Elements whose content is wider than they are.
HIDDEN = """[...document.querySelectorAll('body *')].filter(one => one.checkVisibility()
  && one.clientWidth > 1 && one.scrollWidth > one.clientWidth + 1 && !one.closest('svg, select, input, .skip, thead'))
  .map(one => one.tagName + '.' + one.className + ' ' + one.textContent.trim().slice(0, 40))"""
CONTRAST = (pathlib.Path(__file__).parent / "contrast.js").read_text()

checks = 0


def check(holds, sentence, *details):
    global checks
    checks += 1
    if not holds:
        sys.exit(f"✘ {sentence}: {' '.join(str(detail) for detail in details)}")
    print(f"✔ {sentence}")


def reading(browser, page):
    browser.open(page)
    rules = browser.evaluate(SHOWN)
    check(len(rules) == 14 and rules[0] == "cancellation", "every difference is shown", rules)
    check(browser.evaluate("document.title") == "Comparison of receipts.jsonl", "text from receipts does not run as a script")
    planted = browser.evaluate(
        "[...document.querySelectorAll('tr.mark.unexpected')].filter(row => row.checkVisibility())"
        ".map(row => row.dataset.rule + ' ' + row.querySelector('.badge').textContent)")
    check("cancellation × unexpected: cancellation" in planted, "the planted difference is open and marked", planted)
    quiet = browser.evaluate(
        "[...document.querySelectorAll('.row')].every(row => row.open === row.classList.contains('differs'))")
    check(quiet, "rows that differ are open, the others are not")


def filtering(browser, page):
    def opened(fragment):
        browser.open(f"{page}#{fragment}")
        return browser.evaluate(SHOWN), browser.evaluate(RECEIPTS)

    rules, receipts = opened("class=unexpected&environment=Production")
    check(rules == ["cancellation", "missingTransaction"], "a link filters by class and environment", rules)
    check(len(receipts) == 3 and "sha256:sandboxPurge" not in receipts, "receipts side by side are filtered too", receipts)
    rules, _ = opened("rule=wholeSeconds&app=com.example.reader")
    check(rules == ["wholeSeconds"], "a link filters by rule and app", rules)
    rules, _ = opened("field=revocationDate")
    check(rules == ["cancellation"], "a link filters by field", rules)
    rules, receipts = opened("field=bundleId&class=unexpected")
    check(rules == ["bundleId"] and len(receipts) == 1, "a field is found in receipts side by side too", rules, receipts)
    rules, receipts = opened("text=SHA256:innerOrder")
    check(rules == ["innerOrder"] and receipts == [], "a text finds the receipts of examples", rules, receipts)
    rules, receipts = opened("rule=nobodyHasIt")
    check(rules == [] and receipts == [], "a link to an unknown rule shows nothing", rules)
    status = browser.evaluate(STATUS)
    check(status == "Shown: 0 of 14 differences, 0 of 4 receipts side by side.", "the count is shown", status)
    live = browser.evaluate("document.getElementById('shown').getAttribute('aria-live')")
    check(live == "polite", "the count is announced to screen readers")
    browser.evaluate("document.getElementById('reset').click()")
    check(len(browser.evaluate(SHOWN)) == 14, "reset shows everything")
    check(browser.evaluate("location.hash") == "", "reset empties the link")
    check(browser.evaluate("document.activeElement.dataset.key") == "app", "reset moves the focus to the filters")
    browser.evaluate(
        "(() => { const c = document.querySelector('[data-key=class]'); c.value = 'expected';"
        "c.dispatchEvent(new Event('input', {bubbles: true})); })()")
    check(browser.evaluate("location.hash") == "#class=expected", "a filter can be linked")
    browser.evaluate("location.hash = '#basis'")
    check(len(browser.evaluate(SHOWN)) == 7, "a fragment that is an anchor is not a filter")
    browser.evaluate("location.hash = '#rule=innerOrder'")
    for _ in range(50):
        if browser.evaluate(SHOWN) == ["innerOrder"]:
            break
    check(browser.evaluate(SHOWN) == ["innerOrder"], "an open page follows a change of its fragment")
    browser.open(f"{page}#only=differing")
    seen = browser.evaluate(
        "[...document.querySelectorAll('.fields tbody tr')].filter(row => row.checkVisibility())"
        ".every(row => row.classList.contains('mark'))")
    check(seen, "equal rows can be hidden")


def keyboard(browser, page):
    browser.open(page)
    reached = []
    for _ in range(400):
        browser.press("Tab")
        element = browser.evaluate(
            "(e => e === document.body ? '' : e.dataset.key || e.id || e.tagName + ' ' + e.textContent.slice(0, 60))"
            "(document.activeElement)")
        if not element or reached and element == reached[0]:
            break
        reached.append(element)
    for name in ["app", "environment", "class", "rule", "field", "text", "reset", "only-differing"]:
        check(name in reached, f"Tab reaches {name}", reached)
    wanted = browser.evaluate(
        "[...document.querySelectorAll('summary')].filter(one => one.checkVisibility()).length")
    summaries = len([element for element in reached if element.startswith("SUMMARY")])
    check(summaries == wanted, f"Tab reaches all {wanted} summaries", summaries)
    browser.evaluate("document.querySelector('.row:not(.differs) summary, .examples summary').focus()")
    browser.press("Enter")
    check(browser.evaluate("document.activeElement.parentElement.open"), "Enter opens a collapsed section")
    browser.evaluate("document.querySelector('[data-key=class]').focus()")
    browser.press("u")
    check(browser.evaluate("location.hash") == "#class=unexpected", "a letter key selects a class")
    browser.evaluate("document.querySelector('[data-key=text]').focus()")
    for letter in "cancel":
        browser.press(letter)
    check(browser.evaluate(SHOWN) == ["cancellation"], "typed text filters", browser.evaluate(SHOWN))
    browser.evaluate("document.getElementById('only-differing').focus()")
    browser.press(" ")
    check("only=differing" in browser.evaluate("location.hash"), "the space bar selects the checkbox")


def names(browser, page):
    browser.open(page)
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    roles = ["combobox", "searchbox", "button", "checkbox", "link", "image", "table", "DisclosureTriangle"]
    nameless = [
        node["role"]["value"] for node in nodes
        if not node["ignored"] and node["role"]["value"] in roles
        and not node.get("name", {}).get("value") and node["role"]["value"] != "table"]
    check(not nameless, "every control, link and image has an accessible name", nameless)
    levels = browser.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(one => +one.tagName[1])")
    steps = all(later - earlier <= 1 for earlier, later in zip(levels, levels[1:]))
    check(levels.count(1) == 1 and steps, "headings go down one level at a time", levels)


def closed(browser, page):
    browser.open(page)
    blocked = browser.evaluate(
        "Promise.all([fetch('https://example.org/').then(() => 'sent', () => 'refused'),"
        "new Promise(done => { const i = new Image(); i.onload = () => done('sent'); i.onerror = () => done('refused');"
        "i.src = 'https://example.org/i.png'; })])")
    check(blocked == ["refused", "refused"], "the content security policy blocks requests", blocked)
    browser.evaluate(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = true';"
        "document.body.append(s); })()")
    check(browser.evaluate("window.ran === undefined"), "the content security policy blocks other scripts")
    browser.events = [event for event in browser.events if "example.org" not in json.dumps(event)]


def unscripted(browser, page):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page)
    root = browser.call("DOM.getDocument")["root"]["nodeId"]

    def boxes(selector):
        count = 0
        nodes = browser.call("DOM.querySelectorAll", nodeId=root, selector=selector)["nodeIds"]
        for node in nodes:
            try:
                count += browser.call("DOM.getBoxModel", nodeId=node)["model"]["height"] > 0
            except RuntimeError:
                pass
        return count, len(nodes)

    check(boxes(PLACES) == (14, 14), "without scripts every difference is readable", boxes(PLACES))
    check(boxes(".verdict .sentence") == (4, 4), "without scripts the sentences are readable")
    check(boxes("#documents .receipt > summary") == (4, 4), "without scripts the receipts side by side can be opened")
    check(boxes("#filters")[0] == boxes("#toggle")[0] == 0, "without scripts there are no controls without effect")
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


def media(browser, kind="screen", scheme="light"):
    browser.call(
        "Emulation.setEmulatedMedia", media=kind, features=[{"name": "prefers-color-scheme", "value": scheme}])


def size(browser, width):
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)


def widths(browser, page, folder, name):
    """Tests one page on screens of several widths, with all sections expanded."""
    for kind, width, scheme in [
        ("light", 1280, "light"), ("dark", 1280, "dark"), ("desktop", 1200, "light"), ("desktop-dark", 1200, "dark"),
        ("laptop", 1000, "light"), ("tablet", 760, "light"), ("tablet-dark", 760, "dark"),
        ("narrow", 420, "light"), ("narrow-dark", 420, "dark"), ("small", 360, "light"),
    ]:
        media(browser, scheme=scheme)
        size(browser, width)
        browser.open(page)
        browser.screenshot(os.path.join(folder, f"{name}-{kind}.png"))
        browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        wide = browser.evaluate("document.documentElement.scrollWidth")
        check(wide <= width, f"{name}, {kind}: the page is no wider than {width} pixels", wide)
        hidden = browser.evaluate(HIDDEN)
        check(not hidden, f"{name}, {kind}: nothing is hidden by scrolling", hidden[:5])
        broken = browser.evaluate(WORDS)
        check(not broken, f"{name}, {kind}: no word breaks in the middle", broken[:5])
        poor = browser.evaluate(CONTRAST)
        check(not poor, f"{name}, {kind}: every text has a contrast of at least 4.5", poor[:5])


def looks(browser, page, folder):
    size(browser, 1280)
    media(browser)
    browser.open(f"{page}#class=unexpected&only=differing")
    browser.screenshot(os.path.join(folder, "comparison-filtered.png"))
    media(browser, kind="print")
    size(browser, 718)
    browser.open(page)
    check(
        browser.evaluate("getComputedStyle(document.getElementById('filters')).display") == "none",
        "the printed page has no controls")
    browser.screenshot(os.path.join(folder, "comparison-print.png"))
    media(browser)
    pdf = browser.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"]
    with open(os.path.join(folder, "comparison-print.pdf"), "wb") as file:
        file.write(base64.b64decode(pdf))


def customers(browser, page):
    media(browser)
    size(browser, 420)
    browser.open(page)
    small = browser.evaluate(
        "[...document.querySelectorAll('button, select, textarea, summary')].filter(one => one.checkVisibility())"
        ".map(one => [one.tagName, one.getBoundingClientRect().height]).filter(one => one[1] < 44)")
    check(not small, "customers: everything that can be tapped is at least 44 pixels high", small)
    thin = browser.evaluate(
        "[...document.querySelectorAll('.line svg')].map(one => one.getBoundingClientRect())"
        ".filter(box => box.height < 20 || box.width < 300).length")
    check(thin == 0, "customers: the timeline has the width of a phone", thin)
    folded = browser.evaluate("[...document.querySelectorAll('.document')].every(one => !one.open)")
    check(folded, "customers: the documents are folded away")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page)
    root = browser.call("DOM.getDocument")["root"]["nodeId"]
    nodes = browser.call("DOM.querySelectorAll", nodeId=root, selector=".holding, .line svg, .cards tbody tr")["nodeIds"]
    check(len(nodes) > 10, "customers: the page is readable without scripts", len(nodes))
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


def refreshing(browser, text):
    """Tests the status page from a server. Returning to its tab, which is an event, refreshes it at once."""
    state = {"text": text, "status": 200, "requests": 0}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            state["requests"] += 1
            self.send_response(state["status"])
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(state["text"].encode())

        def log_message(self, *_):
            pass

    def returns(expression, tries=200):
        browser.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        for _ in range(tries):
            if browser.evaluate(expression):
                return True
            time.sleep(0.05)
        return False

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser.open(f"http://127.0.0.1:{server.server_port}/")
        browser.evaluate(
            "(one => { one.open = true; one.querySelector('summary').focus(); scrollTo(0, 700); })"
            "(document.querySelector('main details'))")
        kept = "[document.querySelector('main details').open, document.activeElement.textContent, scrollY]"
        before = browser.evaluate(kept)
        state["text"] = text.replace(">Ready<", ">Shutting down<")
        check(returns("document.querySelector('h1').textContent === 'Shutting down'"), "status: the page refreshes itself")
        check(browser.evaluate(kept) == before and before[2] == 700, "status: what is open, focused and scrolled to stays", before)
        state["status"] = 503
        silent = "document.querySelector('[role=status]').textContent.includes('not responded since')"
        check(returns(silent), "status: a server that does not respond is announced")
        browser.evaluate("document.querySelector('#refresh input').click()")
        asked = state["requests"]
        check(not returns("document.querySelector('#refresh input').checked", 10) and state["requests"] == asked,
              "status: the refresh can be turned off")
        browser.call("Page.navigate", url="about:blank")
        server.shutdown()


def requests(events, netlog, pages):
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    check(asked and all(url.split("#")[0] in [*pages, "about:blank"] for url in asked), "no other resource is loaded", set(asked))
    errors = [
        event["params"] for event in events
        if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")
        and "Content Security Policy" not in json.dumps(event)]
    check(not errors, "no error is reported", errors)
    log = pathlib.Path(netlog).read_text()
    # Requests of the browser itself, which are blocked too, have no origin.
    urls = [
        line for line in log.splitlines()
        if '"url":"http' in line and '"url":"http://127.0.0.1:' not in line and '"initiator":' in line
        and '"initiator":"not an origin"' not in line]
    check(not urls, "no request leaves the machine", urls[:3])


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    pages = {name: (folder / f"{name}.html").as_uri() for name in ["comparison", "status", "migration", "customers"]}
    missing = [name for name in pages if not (folder / f"{name}.html").exists()]
    if missing:
        sys.exit(f"{folder} has no page {', '.join(missing)}")
    page, netlog = pages["comparison"], os.path.join(folder, "netlog.json")
    with Browser(netlog) as browser:
        reading(browser, page)
        filtering(browser, page)
        keyboard(browser, page)
        for address in pages.values():
            names(browser, address)
        for name, address in pages.items():
            widths(browser, address, folder, name)
        customers(browser, pages["customers"])
        looks(browser, page, folder)
        unscripted(browser, page)
        closed(browser, page)
        events = browser.events
        refreshing(browser, (folder / "status.html").read_text())
    requests(events, netlog, list(pages.values()))
    print(f"{checks} checks; screenshots in {folder}")


main()
