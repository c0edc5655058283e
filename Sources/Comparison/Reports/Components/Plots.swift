extension Drawing {
    private static let width = 440
    static let maximumBars = 12

    /// Returns a horizontal bar for each entry, with the name before and the number after it.
    static func bars(_ entries: [ReportEntry], titled title: String) -> Drawing {
        let (height, step) = (18, 30)
        let shown = entries.prefix(maximumBars)
        let names = min(shown.map { $0.name.count }.max() ?? 0, 26) * 7 + 14
        let numbers = (entries.map { $0.count.grouped.count }.max() ?? 0) * 9 + 12
        let shapes = shown.enumerated().flatMap { index, entry in
            let top = index * step + (step - height) / 2
            let length = scaled(entry.count, of: entries.largest, to: width - names - numbers)
            return [label(entry.name, x: 0, y: top + 14, style: "name")]
                + rounded(entry.style, x: names, y: top, width: length, height: height)
                + [label(entry.count.grouped, x: names + length + 8, y: top + 14, style: "number")]
        }
        return Drawing(width: width, height: shown.count * step, titled: title, shapes)
    }

    /// Returns a column for each entry, with the number above and the name below it.
    static func columns(_ entries: [ReportEntry], titled title: String) -> Drawing {
        let step = min(width / max(entries.count, 1), 76)
        let thickness = max(step * 7 / 10, 4)
        let (highest, floor) = (170, 190)
        // Numbers and names that would overlap their neighbors are omitted, because the table has them.
        let hasNumbers = (entries.map { $0.count.grouped.count }.max() ?? 0) * 7 <= step
        let nth = entries.allSatisfy { $0.name.count * 7 + 10 <= step } ? 1 : 2
        var shapes: [Shape] = []
        for (index, entry) in entries.enumerated() {
            let height = scaled(entry.count, of: entries.largest, to: highest)
            let middle = index * step + step / 2
            shapes += rounded(
                entry.style, x: middle - thickness / 2, y: floor - height, width: thickness, height: height)
            if hasNumbers, entry.count > 0 {
                shapes.append(label(entry.count.grouped, x: middle, y: floor - height - 6, style: "number middle"))
            }
            if (entries.count - 1 - index) % nth == 0 {
                shapes.append(label(entry.name, x: middle, y: floor + 18, style: "name middle"))
            }
        }
        let axis: Attributes = [
            "class": "axis", "x1": "0", "y1": "\(floor)", "x2": "\(step * entries.count)", "y2": "\(floor)",
        ]
        return Drawing(width: width, height: floor + 26, titled: title, shapes + [Shape("line", axis)])
    }

    /// Returns one bar for a table cell, with a segment for each entry.
    ///
    /// - Parameter whole: Count that fills the full width.
    static func segments(_ entries: [ReportEntry], of whole: Int64, titled title: String) -> Drawing {
        let width = 160
        var (left, shapes) = (0, [] as [Shape])
        for entry in entries where entry.count > 0 && whole > 0 && left < width {
            let share = Int((Double(entry.count) / Double(whole) * Double(width)).rounded())
            let length = min(max(share, 3), width - left)
            shapes.append(.rectangle(entry.style, x: left, y: 1, width: length, height: 12))
            left += length + 1
        }
        return Drawing(width: width, height: 14, titled: title, shapes)
    }

    /// Returns the length of a bar. A count above 0 has at least 2 units, so that it is visible.
    private static func scaled(_ count: Int64, of largest: Int64, to room: Int) -> Int {
        guard count > 0, largest > 0 else { return 0 }
        return max(Int((Double(count) / Double(largest) * Double(room)).rounded()), 2)
    }

    private static func rounded(_ style: String, x: Int, y: Int, width: Int, height: Int) -> [Shape] {
        guard width > 0, height > 0 else { return [] }
        let radius = "\(min(width, height, 4) / 2)"
        return [.rectangle(style, x: x, y: y, width: width, height: height, rounding: ["rx": radius])]
    }

    private static func label(_ text: String, x: Int, y: Int, style: String) -> Shape {
        let shown = text.count > 26 ? text.prefix(25) + "…" : text[...]
        return Shape("text", ["class": style, "x": "\(x)", "y": "\(y)"], text: String(shown))
    }
}

extension ReportBlock {
    /// A section with a plot of counts, and a table with its numbers.
    ///
    /// - Parameters:
    ///   - caption: Caption of the table and description of the plot.
    ///   - column: Header of the column with names.
    ///   - whole: Count that shares refer to.
    ///   - number: Header of the column with counts.
    ///   - isInTime: Whether the plot has columns from left to right instead of bars.
    ///   - hasSwatches: Whether the table shows the color of each bar.
    ///   - none: Replaces the plot and the table if all counts are 0.
    static func counts(
        id: String, title: Words, caption: String, column: String, entries: [ReportEntry], whole: Int64,
        number: String = "Rows", isInTime: Bool = false, hasSwatches: Bool = false, note: Words? = nil, none: Words
    ) -> ReportBlock {
        guard entries.largest > 0 else { return .section(id: id, title, [.paragraph(none)]) }
        let description = "\(caption): see the table for the numbers"
        let plot = isInTime ? Drawing.columns(entries, titled: description) : .bars(entries, titled: description)
        let rest = isInTime ? 0 : entries.count - Drawing.maximumBars
        var columns: [ReportTable.Column<ReportEntry>] = [
            .rowHeader(column) { hasSwatches ? "\(swatch($0.style))\($0.name)" : "\($0.name)" }
        ]
        let hasMeanings = entries.contains { $0.meaning != nil }
        if hasMeanings { columns.append(.cell("Meaning") { "\($0.meaning ?? "")" }) }
        columns += [.number(number) { $0.count.grouped }, .number("Share") { $0.count.share(of: whole) }]
        let table = ReportTable(
            caption, of: entries, style: hasMeanings ? .tally : .narrowTally,
            attributes: { $0.count == 0 ? "zero" : [:] }, columns)
        return .section(
            id: id, title,
            [
                .group(
                    "pair",
                    [
                        .onPage([
                            .group("plot", [.drawing(plot)] + (rest > 0 ? [.note("\(rest) more in the table.")] : []))
                        ]),
                        .group([:], [.table(table)] + (note.map { [.note($0)] } ?? [])),
                    ])
            ])
    }

    private static func swatch(_ style: String) -> Drawing {
        Drawing(
            ["class": "swatch", "width": "12", "height": "12", "aria-hidden": "true"],
            [.init("rect", ["class": style, "width": "12", "height": "12", "rx": "2"])])
    }
}

/// One row of a table, which is also one bar or column of the plot.
struct ReportEntry: Sendable, Hashable {
    let name: String
    /// Explanation of the name; `nil` if it needs none.
    let meaning: String?
    let count: Int64
    /// CSS classes of the bar, which determine its color, see `report.css`.
    var style = "plain"

    init(_ name: String, _ meaning: String? = nil, count: Int64, style: String = "plain") {
        (self.name, self.meaning, self.count, self.style) = (name, meaning, count, style)
    }
}

extension [ReportEntry] {
    /// Creates entries in descending order of count.
    package init(_ counts: [String: Int64], style: String = "plain", meaning: (String) -> String? = { _ in nil }) {
        self = counts.filter { $0.value > 0 }
            .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { ReportEntry($0.key, meaning($0.key), count: $0.value, style: style) }
    }

    /// Creates entries for consecutive years, including those without receipts. If there are too many, years without
    /// receipts are omitted, then the earliest years are combined into one entry.
    package init(years counts: [String: Int64], atMost limit: Int = 20) {
        let years = counts.compactMap { name, count in Int(name).map { (year: $0, count: count) } }
            .filter { $0.count > 0 }.sorted { $0.year < $1.year }
        guard let first = years.first?.year, let last = years.last?.year else {
            self = []
            return
        }
        if last - first < limit {
            let counts = Dictionary(years.map { ($0.year, $0.count) }, uniquingKeysWith: +)
            self = (first...last).map { ReportEntry("\($0)", count: counts[$0] ?? 0) }
        } else if years.count <= limit {
            self = years.map { ReportEntry("\($0.year)", count: $0.count) }
        } else {
            let early = years.dropLast(limit - 1)
            let until = early.last.map { "until \($0.year)" } ?? ""
            self =
                [ReportEntry(until, count: early.reduce(0) { $0 + $1.count })]
                + years.suffix(limit - 1).map { ReportEntry("\($0.year)", count: $0.count) }
        }
    }

    package var largest: Int64 { self.map(\.count).max() ?? 0 }
}

/// A drawing as SVG. The words or the table next to it have the same data, so a screen reader treats it as one image.
package struct Drawing: Sendable {
    package struct Shape: Sendable {
        let name: StaticString
        let attributes: Attributes
        let text: String?

        package init(_ name: StaticString, _ attributes: Attributes, text: String? = nil) {
            (self.name, self.attributes, self.text) = (name, attributes, text)
        }

        /// A rectangle, whose color is that of its class in the style sheet.
        package static func rectangle(
            _ style: String, x: some CustomStringConvertible, y: some CustomStringConvertible,
            width: some CustomStringConvertible, height: Int, rounding: Attributes = [:]
        ) -> Self {
            let place: Attributes = ["x": "\(x)", "y": "\(y)", "width": "\(width)", "height": "\(height)"]
            return Self("rect", ["class": style] + place + rounding)
        }
    }

    let attributes: Attributes
    let shapes: [Shape]

    package init(_ attributes: Attributes, _ shapes: [Shape]) {
        (self.attributes, self.shapes) = (attributes, shapes)
    }

    /// A drawing of this size in CSS pixels, if the page is wide enough.
    ///
    /// - Parameter title: Description for screen readers.
    package init(width: Int, height: Int, titled title: String, _ shapes: [Shape]) {
        self.init(
            [
                "viewBox": "0 0 \(width) \(height)", "width": "\(width)", "height": "\(height)", "role": "img",
                "aria-label": title,
            ], shapes)
    }
}
