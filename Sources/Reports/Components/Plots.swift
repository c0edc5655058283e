/// Plots of counts as SVG. The table next to each plot has the same numbers, so a screen reader treats the plot as
/// one image.
enum Plot {
    /// Sizes in SVG units: CSS pixels if the page is wide enough.
    private static let width = 440
    private static let barHeight = 18
    private static let barStep = 30
    private static let columnsHeight = 170
    /// Maximum number of bars that are readable.
    static let maximumBars = 12

    /// Writes a horizontal bar for each entry, with the name before and the number after it.
    static func bars(_ entries: [ReportEntry], titled title: String, into html: inout HTMLWriter) {
        let shown = entries.prefix(maximumBars)
        let names = min(shown.map { $0.name.count }.max() ?? 0, 26) * 7 + 14
        let numbers = (entries.map { $0.count.grouped.count }.max() ?? 0) * 9 + 12
        let room = width - names - numbers
        svg(height: shown.count * barStep, titled: title, into: &html) { html in
            for (index, entry) in shown.enumerated() {
                let top = index * barStep + (barStep - barHeight) / 2
                let length = scaled(entry.count, of: entries.largest, to: room)
                label(entry.name, x: 0, y: top + 14, class: "name", into: &html)
                rectangle(
                    x: names, y: top, width: length, height: barHeight, style: entry.style, into: &html)
                label(entry.count.grouped, x: names + length + 8, y: top + 14, class: "number", into: &html)
            }
        }
    }

    /// Writes a column for each entry, with the number above and the name below it.
    static func columns(_ entries: [ReportEntry], titled title: String, into html: inout HTMLWriter) {
        let step = min(width / max(entries.count, 1), 76)
        let thickness = max(step * 7 / 10, 4)
        // Numbers and names that would overlap their neighbors are omitted, because the table has them.
        let hasNumbers = (entries.map { $0.count.grouped.count }.max() ?? 0) * 7 <= step
        let nth = entries.allSatisfy { $0.name.count * 7 + 10 <= step } ? 1 : 2
        svg(height: columnsHeight + 46, titled: title, into: &html) { html in
            let floor = columnsHeight + 20
            for (index, entry) in entries.enumerated() {
                let height = scaled(entry.count, of: entries.largest, to: columnsHeight)
                let middle = index * step + step / 2
                rectangle(
                    x: middle - thickness / 2, y: floor - height, width: thickness, height: height, style: entry.style,
                    into: &html)
                if hasNumbers, entry.count > 0 {
                    label(entry.count.grouped, x: middle, y: floor - height - 6, class: "number middle", into: &html)
                }
                if (entries.count - 1 - index) % nth == 0 {
                    label(entry.name, x: middle, y: floor + 18, class: "name middle", into: &html)
                }
            }
            html.empty(
                "line",
                ["class": "axis", "x1": "0", "y1": "\(floor)", "x2": "\(step * entries.count)", "y2": "\(floor)"])
        }
    }

    private static func svg(
        height: Int, titled title: String, into html: inout HTMLWriter, _ body: (inout HTMLWriter) -> Void
    ) {
        html.element(
            "svg",
            [
                "viewBox": "0 0 \(width) \(height)", "width": "\(width)", "height": "\(height)", "role": "img",
                "aria-label": title,
            ],
            body)
    }

    /// Returns the length of a bar. A count above 0 has at least 2 units, so that it is visible.
    private static func scaled(_ count: Int64, of largest: Int64, to room: Int) -> Int {
        guard count > 0, largest > 0 else { return 0 }
        return max(Int((Double(count) / Double(largest) * Double(room)).rounded()), 2)
    }

    private static func rectangle(
        x: Int, y: Int, width: Int, height: Int, style: String, into html: inout HTMLWriter
    ) {
        guard width > 0, height > 0 else { return }
        html.empty(
            "rect",
            [
                "class": style, "x": "\(x)", "y": "\(y)", "width": "\(width)", "height": "\(height)",
                "rx": "\(min(width, height, 4) / 2)",
            ])
    }

    private static func label(
        _ text: String, x: Int, y: Int, class style: String, into html: inout HTMLWriter
    ) {
        let shown = text.count > 26 ? text.prefix(25) + "…" : text[...]
        html.element("text", ["class": style, "x": "\(x)", "y": "\(y)"], text: String(shown))
    }
}

extension Plot {
    /// Writes one bar for a table cell, with a segment for each entry.
    ///
    /// - Parameters:
    ///   - entries: Segments, from left to right.
    ///   - whole: Count that fills the full width.
    ///   - title: Description for screen readers.
    static func segments(
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
                html.rectangle(entry.style, x: "\(left)", y: 1, width: "\(length)", height: 12)
                left += length + 1
            }
        }
    }
}

extension HTMLWriter {
    /// Writes a rectangle of a drawing.
    mutating func rectangle(_ style: String, x: String, y: Int, width: String, height: Int) {
        empty("rect", ["class": style, "x": x, "y": "\(y)", "width": width, "height": "\(height)"])
    }

    /// Writes the hatch patterns that `report.css` fills bars with.
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
