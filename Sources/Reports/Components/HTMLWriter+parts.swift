/// Parts that all pages have.
extension HTMLWriter {
    /// Returns a page with a link that skips to its main part.
    ///
    /// - Parameters:
    ///   - title: Title of the page.
    ///   - policy: Policy from ``ContentPolicy``.
    ///   - style: Rules in addition to those of all pages.
    ///   - referrer: Referrer policy.
    ///   - skip: Target and text of the link.
    ///   - body: Writes the rest of the page.
    package static func page(
        title: String, policy: String = ContentPolicy.text(), style: [UInt8] = [], referrer: String = "no-referrer",
        skip: (target: String, text: String), _ body: (inout HTMLWriter) -> Void
    ) -> [UInt8] {
        var html = HTMLWriter()
        html.element("html", ["lang": "en"]) { html in
            html.head(title: title, policy: policy, style: style, referrer: referrer)
            html.element("body") { html in
                html.element("a", ["class": "skip", "href": skip.target], text: skip.text)
                body(&html)
            }
        }
        return html.bytes
    }

    /// Writes the `head` element with metadata, policy and style. The policy is also in the page because there is no
    /// HTTP header if the page is opened as a file.
    ///
    /// The style sheet of all pages is `report.css`: on screen, light or dark, and in print. Columns of numbers are as
    /// wide as their content. Below 60rem, tables with many columns become cards; below 40rem, all other content uses a
    /// layout for phones. Words are not broken; ids and untrusted texts break if they are longer than a line. The
    /// contrast ratio of text is at least 4.5, of bars at least 3. An outcome has the same color in all plots. Bars of
    /// failures are also hatched, so that they can be identified without color.
    private mutating func head(title: String, policy: String, style: [UInt8], referrer: String) {
        element("head") { html in
            html.empty("meta", ["charset": "utf-8"])
            html.empty("meta", ["http-equiv": "Content-Security-Policy", "content": policy])
            html.empty("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
            html.empty("meta", ["name": "color-scheme", "content": "light dark"])
            html.empty("meta", ["name": "referrer", "content": referrer])
            html.empty("meta", ["name": "robots", "content": "noindex"])
            html.element("title", text: title)
            html.style(PackageResources.report_css)
            if !style.isEmpty { html.style(style) }
        }
    }

    /// Writes a section with a heading.
    ///
    /// - Parameter id: Id of the heading, for links.
    package mutating func section(_ id: String, _ title: String, _ body: (inout HTMLWriter) -> Void) {
        element("section", ["aria-labelledby": id]) { html in
            html.element("h2", ["id": id], text: title)
            body(&html)
        }
    }

    /// Writes a word with a sign before it, so that the state does not depend on color.
    mutating func badge(_ style: String, sign: String, _ text: String) {
        element("span", ["class": style.isEmpty ? "badge" : "badge \(style)"]) { html in
            html.element("span", ["aria-hidden": "true"], text: "\(sign) ")
            html.text(text)
        }
    }

    /// Writes a remark.
    package mutating func note(_ text: String) { element("p", ["class": "note"], text: text) }

    /// Writes the totals of a page as tiles, each with a note below it if there are notes.
    package mutating func tiles(_ tiles: [(name: String, value: String)], notes: [String] = []) {
        element("dl", ["class": "tiles"]) { html in
            for (index, (name, value)) in tiles.enumerated() {
                html.element("div") { html in
                    html.element("dt", text: name)
                    html.element("dd", text: value)
                    if notes.indices.contains(index) { html.element("dd", ["class": "note"], text: notes[index]) }
                }
            }
        }
    }

    /// Writes the navigation of a page.
    package mutating func contents(_ links: [(target: String, title: String)]) {
        element("nav", ["aria-label": "Contents"]) { html in
            html.element("ul") { html in
                for (target, title) in links {
                    html.element("li") { $0.element("a", ["href": target], text: title) }
                }
            }
        }
    }
}
