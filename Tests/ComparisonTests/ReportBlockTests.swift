import ReceiptBridgeComparison
import Testing

@Suite("Blocks of pages and reports")
struct ReportBlockTests {
    /// A block, its HTML and its Markdown.
    private static let samples: [(block: ReportBlock, html: String, markdown: String)] = [
        (
            .paragraph("\(strong: "Rule"): \(outside: "<b>|\u{202E}") \(path: "a.b", limit: 2)", "note"),
            """
            <p class="note"><strong>Rule</strong>: <bdi>&lt;b&gt;|<span class="unseen">U+202E</span></bdi> \
            <bdi>a.<wbr /><span class="unseen">… and 1 more characters</span></bdi></p>
            """,
            #"**Rule**: &lt;b&gt;\|\[U+202E\] a.\[… and 1 more characters\]"#
        ),
        (
            .section(id: "a", "Title", [.heading("Part"), .list(of: ["one", "\(code: "two", "path")"], "names")]),
            """
            <section aria-labelledby="a"><h2 id="a">Title</h2>
            <h3>Part</h3>
            <ul class="names"><li>one</li><li><code class="path">two</code></li></ul>
            </section>

            """, "## Title\n\n### Part\n\n- one\n- two"
        ),
        (
            .facts("About", [("Name", "a*b")]),
            """
            <table class="facts" role="table"><caption>About</caption>
            <tbody role="rowgroup"><tr role="row"><th scope="row" role="rowheader">Name</th>\
            <td role="cell"><bdi>a*b</bdi></td></tr>
            </tbody>
            </table>

            """, "About:\n\n- Name: a\\*b"
        ),
        (
            .tiles([("rows", "12", nil), ("refused", "1", "3 %")]),
            """
            <dl class="tiles"><div><dt>rows</dt><dd>12</dd></div>
            <div><dt>refused</dt><dd>1</dd><dd class="note">3 %</dd></div>
            </dl>

            """, "- 12 rows\n- 1 refused"
        ),
        (
            .table(
                ReportTable(
                    "Rows", of: [1, 23], style: .tally, id: "rows", attributes: { ["data-row": "\($0)"] },
                    [
                        .rowHeader("Name") { "\(badge: "row", sign: "×", "bad") \($0)" },
                        .number("Count") { "\($0)" },
                    ])),
            """
            <table class="tally" role="table"><caption>Rows</caption>
            <thead role="rowgroup"><tr role="row"><th class="text" scope="col" role="columnheader">Name</th>\
            <th class="number" scope="col" role="columnheader">Count</th></tr>
            </thead>
            <tbody role="rowgroup" id="rows"><tr role="row" data-row="1">\
            <th scope="row" role="rowheader" data-label="Name"><span class="badge bad">\
            <span aria-hidden="true">× </span>row</span> 1</th>\
            <td class="number" role="cell" data-label="Count">1</td></tr>
            <tr role="row" data-row="23"><th scope="row" role="rowheader" data-label="Name"><span class="badge bad">\
            <span aria-hidden="true">× </span>row</span> 23</th>\
            <td class="number" role="cell" data-label="Count">23</td></tr>
            </tbody>
            </table>

            """, "Rows:\n\n| Name | Count |\n| --- | ---: |\n| × row 1 | 1 |\n| × row 23 | 23 |"
        ),
        (
            .table(ReportTable(nil, of: [0], [.blocks("List") { _ in [.list(of: (1...6).map { "\($0)" })] }])),
            """
            <table class="cards" role="table"><thead role="rowgroup"><tr role="row">\
            <th class="text" scope="col" role="columnheader">List</th></tr>
            </thead>
            <tbody role="rowgroup"><tr role="row"><td class="text" role="cell" data-label="List">\
            <ul><li>1</li><li>2</li><li>3</li><li>4</li><li>5</li><li>6</li></ul>
            </td></tr>
            </tbody>
            </table>

            """, "| List |\n| --- |\n| 1; 2; 3; 4; 2 more |"
        ),
        (
            .details("More", [.terms([("is", "what")]), .document("Text", Array(#"{"a":1}"#.utf8))], isOpen: true),
            """
            <details class="fold" open="open"><summary>More</summary><dl><dt>is</dt><dd>what</dd></dl>
            <details class="document"><summary><bdi>Text</bdi></summary><pre><bdi>{</bdi>
            <bdi>  &quot;a&quot;: 1</bdi>
            <bdi>}</bdi>
            </pre></details>
            </details>

            """, "More:\n\n- is: what\n\nText:\n\n```json\n{\n  \"a\": 1\n}\n```"
        ),
        (.onPage([.group("plot", [.note("wide")])]), "<div class=\"plot\"><p class=\"note\">wide</p></div>\n", ""),
    ]

    // T27
    @Test("A block has the same content in HTML and in Markdown, and texts from outside are markup in neither")
    func rendered() {
        for (block, html, markdown) in Self.samples {
            let page = ReportPage(
                title: "Page", skip: ("#main", "Skip"), product: "Product", heading: "Heading", main: [block])
            let text = String(decoding: page.html, as: UTF8.self)
            let main = text.split(separator: #"<main id="main">"#)[1].split(separator: "</main>")[0]
            #expect(main == html)
            #expect(page.markdown == "# Page\n\nProduct" + (markdown.isEmpty ? "" : "\n\n\(markdown)") + "\n")
        }
    }
}
