/// The style sheet of report pages: on screen, light or dark, and in print.
///
/// Columns of numbers are as wide as their content. Below 60rem, tables with many columns become cards; below 40rem,
/// all other content uses a layout for phones. Words are not broken; ids and untrusted texts break if they are longer
/// than a line.
///
/// The contrast ratio of text is at least 4.5, of bars at least 3. An outcome has the same color in all plots. Bars
/// of failures are also hatched, so that they can be identified without color.
enum ReportStyle {
    static let sheet: StaticString = """
        :root {
          color-scheme: light dark;
          --page: #ffffff; --panel: #f5f7f9; --text: #1b1f24; --soft: #57606a; --line: #d3d9e0; --link: #0757b8;
          --plain: #4a6fa5; --migrated: #1a7f37; --decoded: #0969da; --noTransactions: #6e7781;
          --refused: #cf222e; --notFound: #9a6700; --failed: #8250df; --unseen: #fff1d6;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #0f1318; --panel: #181e26; --text: #e6edf3; --soft: #a3adb8; --line: #333c47; --link: #7ab8ff;
            --plain: #86aadd; --migrated: #3fb950; --decoded: #58a6ff; --noTransactions: #98a1ab;
            --refused: #ff6b63; --notFound: #d9a126; --failed: #b392f5; --unseen: #4a3a12;
          }
        }
        * { box-sizing: border-box; }
        html { background: var(--page); scroll-behavior: auto; }
        body {
          max-width: 72rem; margin: 0 auto; padding: 2.5rem 1.5rem 3rem; color: var(--text); background: var(--page);
          font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
        }
        a { color: var(--link); }
        a:focus-visible, summary:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
        code {
          font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Cascadia Mono", "DejaVu Sans Mono", monospace;
          font-size: .9em;
        }
        summary { cursor: pointer; }
        .skip { position: absolute; left: -999rem; }
        .skip:focus { position: static; }
        .hatches { position: absolute; }
        .product { margin: 0; color: var(--soft); font-size: .9rem; }
        h1 { margin: .25rem 0 .75rem; font-size: 1.9rem; line-height: 1.2; overflow-wrap: anywhere; }
        .arrow { color: var(--soft); font-weight: 400; }
        .summary { margin: 0 0 .75rem; font-size: 1.25rem; line-height: 1.4; max-width: 60rem; text-wrap: balance; }
        .standing { margin: 0 0 1.5rem; padding-left: .75rem; border-left: 4px solid var(--notFound); }
        .standing.done { border-color: var(--migrated); }
        .tiles { display: flex; flex-wrap: wrap; gap: .75rem; margin: 0 0 1.5rem; }
        .tiles div {
          flex: 1 1 8.5rem; padding: .75rem 1rem; background: var(--panel); border: 1px solid var(--line);
          border-radius: 8px; display: flex; flex-direction: column-reverse; justify-content: flex-end;
        }
        .tiles dt { color: var(--soft); font-size: .85rem; }
        .tiles dd { margin: 0; font-size: 1.6rem; line-height: 1.25; font-weight: 600; white-space: nowrap; }
        nav ul {
          display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0; padding: .6rem 0; list-style: none;
          border-top: 1px solid var(--line); border-bottom: 1px solid var(--line); font-size: .95rem;
        }
        section { margin-top: 2.5rem; }
        h2 { margin: 0 0 .75rem; font-size: 1.3rem; line-height: 1.3; }
        .pair { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 7fr); gap: 1rem 2.5rem; }
        .plot svg { display: block; max-width: 100%; height: auto; }
        table { border-collapse: collapse; width: 100%; font-size: .92rem; }
        caption { padding: 0 0 .4rem; text-align: left; color: var(--soft); }
        th, td { padding: .35rem .75rem .35rem 0; text-align: left; vertical-align: top; }
        th:last-child, td:last-child { padding-right: 0; }
        thead th { border-bottom: 2px solid var(--line); font-weight: 600; vertical-align: bottom; }
        tbody th, tbody td { border-bottom: 1px solid var(--line); }
        tbody th { font-weight: 600; white-space: nowrap; }
        .tally .text { width: 100%; }
        .tally th.text:first-child { width: auto; }
        .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
        .zero th, .zero td { color: var(--soft); font-weight: 400; }
        .swatch { margin-right: .5rem; vertical-align: -1px; }
        .note { margin: .6rem 0 0; color: var(--soft); font-size: .9rem; }
        .cards tbody th { white-space: normal; overflow-wrap: anywhere; min-width: 10rem; }
        .cards td bdi, .cards td code { overflow-wrap: anywhere; }
        .rows tbody th { font-weight: 400; min-width: 13rem; }
        .rows td.text { min-width: 11rem; }
        .rows td:last-child { min-width: 14rem; }
        .rows td:last-child bdi { overflow-wrap: break-word; }
        .facts, .narrow { width: auto; }
        .narrow caption, .facts caption { white-space: nowrap; }
        .narrow .number { padding-left: 2rem; }
        .facts th { white-space: nowrap; padding-right: 2rem; }
        .facts td { overflow-wrap: anywhere; }
        .unseen {
          padding: 0 .25em; border: 1px solid currentColor; border-radius: 3px; background: var(--unseen);
          font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .8em;
        }
        footer { margin-top: 3rem; color: var(--soft); font-size: .9rem; }
        svg text { fill: var(--text); font-size: 13px; }
        svg text.number { fill: var(--soft); font-size: 13px; }
        svg text.middle { text-anchor: middle; font-size: 12px; }
        svg .axis { stroke: var(--soft); stroke-width: 1; }
        rect.plain { fill: var(--plain); }
        rect.migrated { fill: var(--migrated); }
        rect.decoded { fill: var(--decoded); }
        rect.noTransactions { fill: var(--noTransactions); }
        rect.refused { fill: url(#hatch-refused); stroke: var(--refused); }
        rect.notFound { fill: url(#hatch-notFound); stroke: var(--notFound); }
        rect.failed { fill: url(#hatch-failed); stroke: var(--failed); }
        .hatch-refused { fill: var(--refused); }
        .hatch-notFound { fill: var(--notFound); }
        .hatch-failed { fill: var(--failed); }
        .gap { stroke: var(--page); stroke-width: 2; }
        @media screen and (max-width: 60rem) {
          body { padding: 1.25rem 1rem 2rem; }
          .pair { grid-template-columns: minmax(0, 1fr); }
          .cards, .cards caption, .cards tbody { display: block; width: auto; }
          .cards thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
          .cards tbody tr {
            display: grid; grid-template-columns: repeat(auto-fill, minmax(10rem, 1fr)); gap: .15rem .75rem;
            padding: .6rem 0; border-bottom: 2px solid var(--line);
          }
          .cards tbody th, .cards .text { grid-column: 1 / -1; }
          .cards tbody th { order: -1; min-width: 0; }
          .cards tbody th, .cards td { padding: 0; border: 0; text-align: left; }
          .cards caption { white-space: normal; }
          .cards .number { padding-left: 0; }
          .cards td:empty { display: none; }
          .rows td.text, .rows td:last-child { min-width: 0; }
          .cards td::before { content: attr(data-label) ": "; color: var(--soft); white-space: normal; }
        }
        @media screen and (max-width: 40rem) {
          h1 { font-size: 1.5rem; }
          .tiles dd { font-size: 1.3rem; }
          .tally {
            display: grid; grid-template-columns: minmax(0, 1fr) auto auto; gap: 0 .9rem; width: auto;
          }
          .tally caption, .tally tr { grid-column: 1 / -1; white-space: normal; }
          .tally thead, .tally tbody { display: contents; }
          .tally tr { display: grid; grid-template-columns: subgrid; border-bottom: 1px solid var(--line); }
          .tally th, .tally td { padding: .3rem 0; border: 0; }
          .tally tbody th { white-space: normal; overflow-wrap: anywhere; }
          .tally td.text { grid-column: 1 / -1; order: 1; margin-top: -.3rem; padding-top: 0; color: var(--soft); }
          .tally thead .text:nth-child(2) { position: absolute; clip-path: inset(50%); width: 1px; overflow: hidden; }
          .tally .number { padding-left: 0; }
          .facts, .facts caption, .facts tbody { display: block; white-space: normal; }
          .facts tr {
            display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; padding: .35rem 0;
            border-bottom: 1px solid var(--line);
          }
          .facts tbody th, .facts tbody td { padding: 0; border: 0; white-space: normal; }
        }
        @media screen and (max-width: 24rem) {
          .tally tbody th { grid-column: 1 / -1; padding-bottom: 0; }
          .tally tbody .number:nth-last-child(2) { grid-column: 2; }
        }
        @media print {
          :root {
            color-scheme: light;
            --page: #ffffff; --panel: #ffffff; --text: #000000; --soft: #3d444b; --line: #b6bdc5; --link: #000000;
            --plain: #4a6fa5; --migrated: #1a7f37; --decoded: #0969da; --noTransactions: #6e7781;
            --refused: #cf222e; --notFound: #9a6700; --failed: #8250df; --unseen: #ffffff;
          }
          @page { margin: 16mm 14mm; }
          * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
          html { font-size: 9pt; }
          body { max-width: none; padding: 0; }
          nav, .skip { display: none; }
          section { margin-top: 1.6rem; }
          .pair { grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 1.5rem; }
          .pair, tr, .tiles div, svg { break-inside: avoid; }
          h2, caption, thead { break-after: avoid; }
          thead { display: table-header-group; }
          .plot svg { max-height: 60mm; }
        }

        """
}

extension HTMLWriter {
    /// Writes the hatch patterns that the style sheet fills bars with.
    mutating func hatches() {
        element("svg", ["class": "hatches", "width": "0", "height": "0", "aria-hidden": "true"]) { html in
            html.element("defs") { html in
                html.hatch("refused", turned: 45)
                html.hatch("notFound", turned: -45)
                html.hatch("failed", turned: 0)
            }
        }
    }

    /// Writes one hatch pattern.
    private mutating func hatch(_ outcome: String, turned angle: Int) {
        element(
            "pattern",
            [
                "id": "hatch-\(outcome)", "width": "7", "height": "7", "patternUnits": "userSpaceOnUse",
                "patternTransform": "rotate(\(angle))",
            ]
        ) { html in
            html.empty("rect", ["class": "hatch-\(outcome)", "width": "7", "height": "7"])
            html.empty("line", ["class": "gap", "x1": "1", "y1": "0", "x2": "1", "y2": "7"])
        }
    }
}
