/// Style rules of the comparison page, in addition to those of all reports.
enum ComparisonStyle {
    static let sheet: StaticString = """
        :root { --safe: var(--migrated); --notYet: var(--notFound); --notSafe: var(--refused); }
        [hidden] { display: none !important; }
        :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
        .fields td, .fields th, code, .sentence, summary { overflow-wrap: anywhere; }
        .pair tbody th { white-space: normal; overflow-wrap: anywhere; }
        .tally .text { width: auto; }
        .note { max-width: 60rem; color: var(--soft); }

        .verdicts { margin: 0 0 1.5rem; padding: 0; list-style: none; display: grid; gap: .75rem; }
        .verdict {
          display: grid; grid-template-columns: 15.5rem minmax(0, 1fr); gap: .25rem 1.25rem; align-items: start;
          padding: 1rem 1.25rem; background: var(--panel); border: 1px solid var(--line); border-left: 6px solid;
          border-radius: 8px;
        }
        .verdict.safe { border-left-color: var(--safe); }
        .verdict.notYet { border-left-color: var(--notYet); border-left-style: dashed; }
        .verdict.notSafe { border-left-color: var(--notSafe); border-left-style: double; }
        .verdict.informs { border-left-color: var(--soft); }
        .informs .shape { fill: var(--soft); }
        .verdict p { margin: 0; }
        .verdict .word { display: flex; gap: .6rem; align-items: center; font-size: 1.2rem; font-weight: 700; }
        .verdict .sentence { font-size: 1.2rem; line-height: 1.45; }
        .verdict svg { flex: none; }
        .safe .shape { fill: var(--safe); }
        .notYet .shape { fill: var(--notYet); }
        .notSafe .shape { fill: var(--notSafe); }
        .verdict .mark { fill: none; stroke: var(--page); stroke-width: 2.6; stroke-linecap: round; }

        .words, .place, .why { display: block; color: var(--soft); font-size: .88rem; font-weight: 400; }
        .badge { font-weight: 600; white-space: nowrap; }
        .badge.unexpected { color: var(--refused); }
        .badge.expected { color: var(--decoded); }
        .fixed { table-layout: fixed; }
        .fixed thead th { white-space: normal; overflow-wrap: break-word; }
        .fixed thead th:nth-child(1) { width: 42%; }
        .fixed thead th:nth-child(3) { width: 7rem; }
        .fixed th:first-child { padding-left: .75rem; }
        .places { margin: 0; padding: 0; list-style: none; display: grid; gap: .4rem; }
        .minute { white-space: nowrap; }
        #entries tr.unexpected > th { box-shadow: inset 4px 0 var(--refused); }
        .examples { margin-top: .25rem; font-size: .9rem; }
        .examples ul { margin: .25rem 0; padding: 0; list-style: none; }
        .examples li { padding: .4rem 0; border-top: 1px dotted var(--line); }
        .examples dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0 .75rem; margin: .2rem 0; }
        .examples dt { color: var(--soft); }
        .examples dd { margin: 0; }

        .filters {
          display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: end; margin: 1rem 0; padding: .9rem 1rem;
          background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
        }
        .filters label { flex: 1 1 9rem; min-width: 0; }
        .filters label span { display: block; color: var(--soft); font-size: .85rem; }
        .filters select, .filters input, .filters button {
          width: 100%; min-height: 2.4rem; padding: .3rem .5rem; color: var(--text); background: var(--page); font: inherit;
          border: 1px solid var(--soft); border-radius: 6px;
        }
        .filters button { width: auto; padding: .3rem 1rem; cursor: pointer; }
        .filters p { flex: 1 1 100%; margin: 0; font-weight: 600; }

        .receipt { margin: 0 0 .75rem; border: 1px solid var(--line); border-radius: 8px; }
        .receipt > summary { padding: .6rem 1rem; background: var(--panel); border-radius: 8px; }
        .receipt > .part { padding: 0 1rem; }
        .receipt > .part:last-child { padding-bottom: .75rem; }
        h3 { margin: 1rem 0 .35rem; font-size: 1.02rem; }
        .of { margin-left: .25rem; color: var(--soft); }
        .counts { margin-left: .25rem; color: var(--soft); }
        .counts .badge + .badge { margin-left: .6rem; }
        .row { padding: .2rem 0; border-top: 1px solid var(--line); }
        .row > :not(summary) { margin: .25rem 0 .6rem 1.1rem; }
        .row > table { width: calc(100% - 1.1rem); table-layout: fixed; }
        .fields th { font-weight: 400; white-space: normal; }
        .fields thead th { font-weight: 600; }
        .fields tr.mark th { font-weight: 600; }
        .fields th:first-child { padding-left: .5rem; }
        .fields tr.mark .badge { display: block; font-size: .88rem; white-space: normal; }
        .fields tr.unexpected { background: color-mix(in srgb, var(--refused) 9%, transparent); }
        .fields tr.expected { background: color-mix(in srgb, var(--decoded) 7%, transparent); }
        .fields tr.unexpected th { box-shadow: inset 4px 0 var(--refused); }
        .fields tr.expected th { box-shadow: inset 2px 0 var(--decoded); }
        .absent { color: var(--soft); font-style: italic; }
        .only .fields tbody tr:not(.mark), .only .row:not(.differs) { display: none; }
        .only .part:not(:has(.differs)) { display: none; }
        .toggle label { cursor: pointer; }
        .toggle input { width: 1.1rem; height: 1.1rem; vertical-align: -2px; }

        @media screen and (max-width: 60rem) {
          .verdict { grid-template-columns: minmax(0, 1fr); }
          .verdict .sentence { font-size: 1.08rem; }
          .filters label { flex-basis: 8rem; }
        }
        @media screen and (max-width: 40rem) {
          .receipt > .part { padding: 0 .6rem; }
          .mark .badge { white-space: normal; }
          .row > :not(summary) { margin-left: 0; }
          .row > table { width: 100%; font-size: .85rem; }
          .fields, .fields thead, .fields tbody { display: block; }
          .fields tr { display: grid; grid-template-columns: 1fr 1fr; gap: 0 .6rem; border-bottom: 1px solid var(--line); }
          .fields th, .fields td { padding: .2rem 0; border: 0; }
          .fields th:first-child { grid-column: 1 / -1; }
          .fields tbody th { padding-bottom: 0; color: var(--soft); }
        }
        @media print {
          .filters, .toggle { display: none; }
          .verdict, .row > summary { break-inside: avoid; }
          .receipt > summary { border-bottom: 1px solid var(--line); }
          .examples::details-content { content-visibility: visible; height: auto; }
          a[href^="http"]::after { content: " (" attr(href) ")"; font-size: .8em; }
        }

        """
}
