extension Plot {
    /// Writes one bar for a table cell, with a segment for each entry.
    ///
    /// - Parameters:
    ///   - entries: Segments, from left to right.
    ///   - whole: Count that fills the full width.
    ///   - title: Description for screen readers.
    package static func segments(
        _ entries: [ReportEntry], of whole: Int64, titled title: String, into html: inout HTMLWriter
    ) {
        let width = 160
        html.element(
            "svg",
            ["viewBox": "0 0 \(width) 14", "width": "\(width)", "height": "14", "role": "img", "aria-label": title]
        ) { html in
            var left = 0
            for entry in entries where entry.count > 0 && whole > 0 && left < width {
                let share = Int((Double(entry.count) / Double(whole) * Double(width)).rounded())
                let length = min(max(share, 3), width - left)
                html.empty(
                    "rect",
                    ["class": entry.style, "x": "\(left)", "y": "1", "width": "\(length)", "height": "12"])
                left += length + 1
            }
        }
    }
}
