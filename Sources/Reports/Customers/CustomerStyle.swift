/// The style rules of the customer page, in addition to the style of all reports.
enum CustomerStyle {
    static let sheet: StaticString = """
        form label { display: block; margin: 0 0 .35rem; font-weight: 600; }
        .ask { display: flex; flex-wrap: wrap; gap: .75rem; align-items: stretch; }
        textarea, select, button { font: inherit; color: var(--text); border-radius: 8px; min-height: 2.75rem; }
        textarea {
          flex: 1 1 24rem; min-width: 0; padding: .6rem .8rem; border: 1px solid var(--soft); background: var(--page);
          font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; resize: vertical;
        }
        .ask .app { display: flex; flex-direction: column; margin: 0; font-weight: 400; }
        .ask .app span { color: var(--soft); font-size: .85rem; }
        select { padding: .4rem .6rem; border: 1px solid var(--soft); background: var(--page); max-width: 100%; }
        button {
          padding: .6rem 1.4rem; border: 1px solid var(--link); background: var(--link); color: var(--page);
          font-weight: 600; cursor: pointer; align-self: flex-start;
        }
        textarea:focus-visible, select:focus-visible, button:focus-visible {
          outline: 3px solid var(--link); outline-offset: 2px;
        }
        .customer .cards td bdi { overflow-wrap: break-word; }
        main { margin-top: 2rem; }
        .problem {
          padding: .9rem 1.1rem; background: var(--panel); border: 1px solid var(--line);
          border-left: 6px double var(--notFound); border-radius: 8px;
        }
        .problem h2 { margin: 0 0 .4rem; }
        .problem p { margin: .3rem 0 0; max-width: 46rem; }
        .mark { color: var(--notFound); }
        .customer + .customer { margin-top: 3rem; border-top: 2px solid var(--line); padding-top: 2rem; }
        .customer h2 { overflow-wrap: anywhere; }
        h3 { margin: 2rem 0 .6rem; font-size: 1.1rem; }
        .facts th { font-weight: 400; color: var(--soft); white-space: normal; }
        .holdings { margin: 0; padding: 0; list-style: none; display: grid; gap: .75rem; }
        @media (min-width: 48rem) { .holdings { grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); } }
        .holding {
          padding: .75rem 1rem; background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
          border-left: 6px solid var(--migrated); overflow-wrap: anywhere;
        }
        .holding.atRisk { border-left: 6px dashed var(--notFound); }
        .holding.ended { border-left: 6px double var(--noTransactions); }
        .holding p { margin: .2rem 0 0; }
        .holding .what { margin: 0; }
        .what strong { display: block; margin-top: .2rem; }
        .badge {
          display: inline-block; padding: 0 .5rem; border: 1px solid currentColor; border-radius: 999px;
          font-size: .85rem; font-weight: 600; white-space: nowrap; color: var(--migrated);
        }
        .atRisk .badge { color: var(--notFound); }
        .ended .badge { color: var(--soft); }
        .fold { margin-top: .75rem; }
        summary { padding: .6rem 0; min-height: 2.75rem; }
        .fold > summary { font-weight: 600; }
        .timeline { padding: 1rem; border: 1px solid var(--line); border-radius: 8px; }
        .timeline p { margin: 0; }
        .line { margin-top: .6rem; }
        .line .title { font-size: .9rem; overflow-wrap: anywhere; }
        .line svg { display: block; width: 100%; height: 24px; }
        .axis { display: flex; justify-content: space-between; color: var(--soft); font-size: .85rem; }
        .timeline .axis { margin-top: .4rem; }
        .legend {
          display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: 0; padding: 0; list-style: none;
          color: var(--soft); font-size: .85rem;
        }
        .legend svg { margin-right: .35rem; vertical-align: -1px; }
        rect.track { fill: var(--line); }
        rect.today { fill: var(--text); }
        rect.refund { fill: var(--refused); }
        rect.shared { fill: var(--failed); }
        .customer .cards tbody th { min-width: 6.5rem; font-weight: 400; }
        @media (min-width: 60.01rem) { .customer .cards th, .customer .cards td:nth-child(4) { white-space: nowrap; } }
        .documents { border-top: 1px solid var(--line); }
        .document { border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
        pre {
          margin: 0 0 .75rem; padding: .75rem; background: var(--panel); border-radius: 8px; white-space: pre-wrap;
          overflow-wrap: anywhere; font: .85rem/1.45 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
        }
        @media screen and (max-width: 40rem) { button { width: 100%; } .timeline { padding: .75rem; } }
        @media print { form, .documents { display: none; } }

        """
}
