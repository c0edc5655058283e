/// Parts that all pages have.
extension HTMLWriter {
    /// Writes a section with a heading.
    ///
    /// - Parameter id: Id of the heading, for links.
    package mutating func section(_ id: String, _ title: String, _ body: (inout HTMLWriter) -> Void) {
        element("section", ["aria-labelledby": id]) { html in
            html.element("h2", ["id": id], text: title)
            body(&html)
        }
    }

    /// Writes the totals of a page as tiles.
    package mutating func tiles(_ tiles: [(name: String, value: String)]) {
        element("dl", ["class": "tiles"]) { html in
            for (name, value) in tiles {
                html.element("div") { html in
                    html.element("dt", text: name)
                    html.element("dd", text: value)
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
