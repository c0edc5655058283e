import AppStore
import Pipeline
import Reports
import StoreTypes
import Telemetry
import Transport

/// What the server has to do with, beside apps.
extension StatusPage {
    func sources(_ html: inout HTMLWriter) {
        section("sources", "Sources", &html) { html in
            let used = figures.latencies.filter { $0.histogram.count > 0 }
            guard !used.isEmpty else { return html.element("p", text: "No receipt yet.") }
            html.scrolling("How long answers took") { html in
                html.element("table", ["class": "narrow"]) { html in
                    html.element("caption", text: "From the body of a request to its verdict")
                    html.head(["Source", "Answers", "Half within", "95 % within", "99 % within"], numbers: 4)
                    html.element("tbody") { html in
                        for (source, histogram) in used {
                            html.element("tr") { html in
                                html.element("th", ["scope": "row"], text: source)
                                html.element("td", ["class": "number"], text: histogram.count.grouped)
                                for part in [0.5, 0.95, 0.99] {
                                    html.element("td", ["class": "number"], text: histogram.words(at: part))
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    func upstream(_ html: inout HTMLWriter) {
        section("upstream", "App Store", &html) { html in
            guard !figures.upstream.isEmpty else { return html.element("p", text: "Nobody was asked yet.") }
            if !figures.hosts.isEmpty { hosts(&html) }
            html.scrolling("Exchanges with the App Store") { html in
                html.element("table") { html in
                    html.head(
                        ["Endpoint", "Environment", "What came of it", "Exchanges", "Answered", "95 % within"],
                        numbers: 3)
                    html.element("tbody") { html in
                        for row in figures.upstream { self.exchange(row, &html) }
                    }
                }
            }
        }
    }

    private func hosts(_ html: inout HTMLWriter) {
        html.scrolling("How the hosts are doing") { html in
            html.element("table") { html in
                html.head(["Host", "State", "Left alone, times", "Not asked", "Under way"], numbers: 3)
                html.element("tbody") { html in
                    for host in figures.hosts {
                        html.element("tr") { html in
                            html.element("th", ["scope": "row"]) { $0.foreign(host.host) }
                            html.element("td", text: host.state == .closed ? "well" : "fails, left alone")
                            html.element("td", ["class": "number"], text: host.opened.grouped)
                            html.element(
                                "td", ["class": "number"], text: (host.refused + host.refusedRepetitions).grouped)
                            html.element("td", ["class": "number"], text: Int64(host.underWay).grouped)
                        }
                    }
                }
            }
        }
    }

    private func exchange(_ row: UpstreamCounts.Row, _ html: inout HTMLWriter) {
        html.element("tr") { html in
            html.element("th", ["scope": "row"], text: row.endpoint)
            html.element("td", text: row.environment.rawValue)
            html.element("td", text: row.outcomes.words)
            html.element("td", ["class": "number"], text: row.asked.grouped)
            html.element("td", ["class": "number"], text: row.answered.share(of: row.asked))
            html.element("td", ["class": "number"], text: row.duration.words(at: 0.95))
        }
    }

    func budgets(_ html: inout HTMLWriter) {
        section("budgets", "Calls left this hour", &html) { html in
            let rows = figures.budgets.flatMap { budget in budget.levels.map { (budget.bundleId, $0) } }
            guard !rows.isEmpty else {
                return html.element("p", text: "The App Store Server API was not asked yet.")
            }
            html.scrolling("Calls to the App Store Server API that are left") { html in
                html.element("table") { html in
                    html.head(["App", "Endpoint", "Environment", "Left", "Of", "Share"], numbers: 3)
                    html.element("tbody") { html in
                        for (bundleId, level) in rows {
                            html.element("tr") { html in
                                html.element("th", ["scope": "row"]) { $0.foreign(bundleId.rawValue) }
                                html.element("td", text: level.endpoint.name)
                                html.element("td", text: level.environment.rawValue)
                                html.element("td", ["class": "number"], text: level.left.grouped)
                                html.element("td", ["class": "number"], text: level.limit.grouped)
                                html.element("td", ["class": "number"], text: level.left.share(of: level.limit))
                            }
                        }
                    }
                }
            }
        }
    }

    func notifications(_ html: inout HTMLWriter) {
        section("notifications", "Notifications", &html) { html in
            let numbers = figures.notifications
            html.element("table", ["class": "facts"]) { html in
                html.element("tbody") { html in
                    html.fact("Stored", numbers.stored.grouped)
                    html.fact("Known already", numbers.repeated.grouped)
                    for code in NotificationRefusal.Code.allCases {
                        if let count = numbers.refused[code], count > 0 {
                            html.fact("Refused: \(code.rawValue)", count.grouped)
                        }
                    }
                    if numbers.droppedHints > 0 { html.fact("Look-ups dropped", numbers.droppedHints.grouped) }
                }
            }
        }
    }

    func process(_ html: inout HTMLWriter) {
        section("process", "Process", &html) { html in
            html.element("table", ["class": "facts"]) { html in
                html.element("tbody") { html in
                    html.fact("Version", figures.version)
                    html.fact("Up for", figures.uptime.words)
                    for (name, value) in figures.facts { html.fact(name, value) }
                }
            }
        }
    }

    private func section(
        _ id: String, _ title: String, _ html: inout HTMLWriter, _ body: (inout HTMLWriter) -> Void
    ) {
        html.element("section", ["aria-labelledby": id]) { html in
            html.element("h2", ["id": id], text: title)
            body(&html)
        }
    }
}

extension HTMLWriter {
    /// A row of a name and what it is.
    mutating func fact(_ name: String, _ value: String) {
        element("tr") { html in
            html.element("th", ["scope": "row"], text: name)
            html.element("td") { $0.foreign(value, limit: 300) }
        }
    }

    /// The names of columns, of which the last ones are numbers.
    mutating func head(_ columns: [String], numbers: Int) {
        element("thead") { html in
            html.element("tr") { html in
                for (place, column) in columns.enumerated() {
                    let style = place >= columns.count - numbers ? "number" : "text"
                    html.element("th", ["class": style, "scope": "col"], text: column)
                }
            }
        }
    }

    /// What may be wider than the page.
    mutating func scrolling(_ label: String, _ body: (inout HTMLWriter) -> Void) {
        element("div", ["class": "scroll", "tabindex": "0", "role": "region", "aria-label": label], body)
    }
}

extension Histogram {
    /// `2.5 ms`; the class in which it ends.
    fileprivate func words(at part: Double) -> String {
        guard let seconds = seconds(at: part) else { return "–" }
        if seconds.isInfinite { return "over 10 s" }
        if seconds >= 1 { return seconds == seconds.rounded() ? "\(Int(seconds)) s" : "\(seconds) s" }
        let milliseconds = seconds * 1_000
        return milliseconds == milliseconds.rounded() ? "\(Int(milliseconds)) ms" : "\(milliseconds) ms"
    }
}
