import Reports

/// The last hour beside the whole time since the start.
extension StatusPage {
    /// Writes the figures of the last hour, those since the start below them if that is longer ago, and a bar for every
    /// five minutes.
    func lastHour(_ html: inout HTMLWriter) {
        let (hour, all) = (snapshot.trend.total, snapshot.total)
        html.element(
            "p", ["class": "span"],
            text: hour.age < all.age ? "In the last hour" : "Since the start, \(all.age.displayText) ago")
        func tile(_ name: String, _ value: (TrafficSample) -> String) -> (name: String, value: String, note: String) {
            (name, value(hour), "\(value(all)) since the start")
        }
        let tiles = [
            tile("receipts answered") { $0.answered.grouped },
            tile("genuine (0, 21006)") { $0.genuine.part(of: $0.answered) },
            tile("rejected (21002, 21003)") { $0.rejected.part(of: $0.answered) },
            tile("temporary errors (to be retried)") { $0.retried.part(of: $0.answered) },
            tile("notifications accepted") { $0.notifications.grouped },
        ]
        html.tiles(tiles.map { ($0.name, $0.value) }, notes: hour.age < all.age ? tiles.map(\.note) : [])
        bars(&html)
    }

    private func bars(_ html: inout HTMLWriter) {
        let steps = snapshot.trend.steps
        guard let most = steps.map(\.answered).max(), most > 0 else { return }
        let height: Int64 = 40
        html.element("figure", ["class": "trend"]) { html in
            let counts = steps.map(\.answered.grouped).joined(separator: ", ")
            html.element(
                "svg",
                [
                    "viewBox": "0 0 \(steps.count * 20) \(height)", "role": "img",
                    "aria-label": "Responses in steps of five minutes, the last one now: \(counts)",
                ]
            ) { html in
                for (index, step) in steps.enumerated() {
                    for (style, count) in [("answered", step.answered), ("retried", step.retried)] where count > 0 {
                        let length = max(1, count * height / most)
                        html.empty(
                            "rect",
                            [
                                "class": style, "x": "\(index * 20 + 2)", "y": "\(height - length)", "width": "16",
                                "height": "\(length)",
                            ])
                    }
                }
            }
            let rest = snapshot.trend.total.retried > 0 ? "; the lower part of a bar is to be retried." : "."
            html.element(
                "figcaption", text: "Responses, five minutes a bar, \(most.grouped) at most\(rest)")
        }
    }
}
