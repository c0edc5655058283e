import Pipeline
import Reports

/// The section of all apps. Up to eight apps are shown one by one. For more, the page shows totals and the apps that
/// need attention; the others are collapsed.
extension StatusPage {
    func apps(_ html: inout HTMLWriter) {
        section("apps", "Apps", &html) { html in
            guard !figures.apps.isEmpty else {
                return html.element("p", text: "No app is configured, and no request has arrived yet.")
            }
            if figures.apps.count > HTMLWriter.maximumOpen {
                summary(&html)
            } else {
                for app in figures.apps { article(app, &html) }
            }
        }
    }

    /// Writes totals, the apps that need attention and collapsed lists of the others.
    private func summary(_ html: inout HTMLWriter) {
        let apps = figures.apps.filter { !$0.isOthers }
        let concerned = apps.filter { !$0.concerns.isEmpty }
        let quiet = apps.filter(\.concerns.isEmpty)
        let (used, idle) = (quiet.filter(\.wasUsed), quiet.filter { !$0.wasUsed })
        let numbers = [apps, concerned, used, idle].map { Int64($0.count).grouped }
        html.element(
            "p",
            text: """
                \(numbers[0]) apps: \(numbers[1]) in need of attention, \(numbers[2]) in order, \(numbers[3]) without a \
                receipt yet.
                """)
        if figures.verdicts > 0 { answers(figures.traffic, named: "Responses of all apps", &html) }
        html.element("div", ["class": "folds"]) { html in
            for app in concerned.prefix(HTMLWriter.maximumOpen) { article(app, &html) }
            html.fold(Array(concerned.dropFirst(HTMLWriter.maximumOpen)), "more in need of attention") { apps, html in
                for app in apps { folded(app, &html) }
            }
            html.fold(used, "in order") { apps, html in
                for app in apps { folded(app, &html) }
            }
            html.fold(idle, "without a receipt yet") { apps, html in
                html.element("ul", ["class": "names"]) { html in
                    for app in apps { html.element("li") { $0.untrusted(app.name, isPath: true) } }
                }
            }
            for app in figures.apps where app.isOthers { folded(app, &html) }
        }
    }
}
