/// A page: one file without external resources, for screen and print. Everything on it is readable without its script.
package struct ReportPage {
    package let title: String
    /// Target and text of the link that skips to the main part.
    package let skip: (target: String, text: String)
    /// What the page is, above its heading.
    package let product: Words
    package let heading: Words
    package var header: [ReportBlock] = []
    /// Writes a form at the end of the header.
    package var form: (inout HTMLWriter) -> Void = { _ in }
    /// Links to other pages after those to the sections; `nil` if the page has no navigation.
    package var links: [(target: String, title: Words)]? = []
    package let main: [ReportBlock]
    package var footer: [Words] = []
    package var policy = ContentPolicy.text()
    package var referrer = "no-referrer"
    /// Rules in addition to those of all pages.
    package var style: [UInt8] = []
    package var script: [UInt8] = []

    package init(
        title: String, skip: (target: String, text: String), product: Words, heading: Words, main: [ReportBlock]
    ) {
        (self.title, self.skip, self.product) = (title, skip, product)
        (self.heading, self.main) = (heading, main)
    }

    /// The HTML, which is also well-formed XML.
    package var html: [UInt8] {
        var html = HTMLWriter()
        html.element("html", ["lang": "en"]) { html in
            head(&html)
            html.element("body") { html in
                html.element("a", ["class": "skip", "href": skip.target], text: skip.text)
                html.embedded(Self.hatches)
                html.element("header") { html in
                    html.write([.paragraph(product, "product")])
                    html.element("h1", [:], heading)
                    html.write(header)
                    form(&html)
                }
                if let links { contents(Self.sections(of: main) + links, &html) }
                html.element("main", ["id": "main"]) { $0.write(main) }
                html.element("footer") { html in html.write(footer.map { .paragraph($0) }) }
                if !script.isEmpty { html.element("script") { $0.embedded(script) } }
            }
        }
        return html.bytes
    }

    /// The policy is also in the page because there is no HTTP header if the page is opened as a file.
    ///
    /// The style sheet of all pages is `report.css`: on screen, light or dark, and in print. Columns of numbers are as
    /// wide as their content. Below 60rem, tables with many columns become cards; below 40rem, all other content uses a
    /// layout for phones. Words are not broken; ids and untrusted texts break if they are longer than a line. The
    /// contrast ratio of text is at least 4.5, of bars at least 3. An outcome has the same color in all plots. Bars of
    /// failures are also hatched, so that they can be identified without color.
    private func head(_ html: inout HTMLWriter) {
        html.element("head") { html in
            html.empty("meta", ["charset": "utf-8"])
            html.empty("meta", ["http-equiv": "Content-Security-Policy", "content": policy])
            html.empty("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
            html.empty("meta", ["name": "color-scheme", "content": "light dark"])
            html.empty("meta", ["name": "referrer", "content": referrer])
            html.empty("meta", ["name": "robots", "content": "noindex"])
            html.element("title", text: title)
            html.element("style") { $0.embedded(PackageResources.report_css + style) }
        }
    }

    private func contents(_ links: [(target: String, title: Words)], _ html: inout HTMLWriter) {
        html.element("nav", ["aria-label": "Contents"]) { html in
            html.write([.list(of: links.map { "\(link: $0.title, ["href": $0.target])" })])
        }
    }

    private static func sections(of blocks: [ReportBlock]) -> [(target: String, title: Words)] {
        blocks.flatMap { block -> [(target: String, title: Words)] in
            switch block {
            case .section(let id, let title, _, _): [("#\(id)", title)]
            case .onPage(let blocks): sections(of: blocks)
            default: []
            }
        }
    }

    private static let hatches: [UInt8] = {
        let patterns = [("refused", 45), ("notFound", -45), ("failed", 0)].map { outcome, angle in
            #"<pattern id="hatch-\#(outcome)" width="7" height="7" patternUnits="userSpaceOnUse" "#
                + #"patternTransform="rotate(\#(angle))"><rect class="hatch-\#(outcome)" width="7" height="7" />"#
                + #"<line class="gap" x1="1" y1="0" x2="1" y2="7" /></pattern>"#
        }
        let svg = #"<svg class="hatches" width="0" height="0" aria-hidden="true"><defs>"#
        return Array((svg + patterns.joined() + "</defs></svg>\n").utf8)
    }()
}
