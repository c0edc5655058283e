extension HTMLWriter {
    /// Writes the `head` element with metadata, policy and style. The policy is also in the page because there is no
    /// HTTP header if the page is opened as a file.
    ///
    /// - Parameters:
    ///   - title: Title of the page.
    ///   - policy: Policy from ``ContentPolicy``.
    ///   - style: Style sheet in addition to that of all reports.
    package mutating func head(title: String, policy: String = ContentPolicy.text(), style: StaticString? = nil) {
        element("head") { html in
            html.empty("meta", ["charset": "utf-8"])
            html.empty("meta", ["http-equiv": "Content-Security-Policy", "content": policy])
            html.empty("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
            html.empty("meta", ["name": "color-scheme", "content": "light dark"])
            html.empty("meta", ["name": "referrer", "content": "no-referrer"])
            html.empty("meta", ["name": "robots", "content": "noindex"])
            html.element("title", text: title)
            html.style(ReportStyle.sheet)
            if let style { html.style(style) }
        }
    }
}
