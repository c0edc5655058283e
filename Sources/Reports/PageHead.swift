extension HTMLWriter {
    /// What stands before a page is shown: its policy, which also counts where it is opened as a file, and its style.
    ///
    /// - Parameters:
    ///   - policy: of ``ContentPolicy``.
    ///   - style: what the page adds to the style of all reports.
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
