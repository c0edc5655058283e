import AppStoreClients
import AppStorePayloads
import Base
import BridgeConfiguration
import Comparison
import Notifications
import Reports
import Telemetry
import VerifyReceipt

/// The status page of a running server: one HTML document that loads nothing. Its script refreshes it.
struct StatusPage {
    /// The value of `Content-Security-Policy`.
    static let policy = ContentPolicy.text(script: script, connects: true)
    /// The script without the line feed at its end. It replaces the contents with those of the current page. What is
    /// open, focused or selected, and the scroll position, stay.
    private static let script = Array(PackageResources.status_js.dropLast())

    let snapshot: StatusSnapshot

    init(_ snapshot: StatusSnapshot) { self.snapshot = snapshot }

    /// The HTML, which is also well-formed XML.
    var bytes: [UInt8] {
        HTMLWriter.page(
            title: "Receipt Bridge: \(snapshot.phase.words)", policy: Self.policy, style: PackageResources.status_css,
            skip: ("#apps", "To the apps")
        ) { html in
            html.element("header", [:], header)
            html.contents(links)
            // Hidden if scripts do not run.
            html.element("p", ["class": "refresh", "id": "refresh", "hidden": "hidden"]) { html in
                html.element("label") { html in
                    html.empty("input", ["type": "checkbox"])
                    html.text(" Refresh every 10 seconds")
                }
                html.element("span", ["role": "status"], text: "")
            }
            html.element("main") { html in
                warnings(&html)
                apps(&html)
                sources(&html)
                upstream(&html)
                budgets(&html)
                notifications(&html)
                process(&html)
            }
            html.element("footer") { html in
                html.element(
                    "p",
                    text: """
                        Other counts than those of the last hour are since the start of the process. This page contains no receipts, no \
                        transactions and no secrets.
                        """)
            }
            html.script(Self.script)
        }
    }

    // MARK: - Top

    /// Writes the phase, a summary and the headline figures.
    private func header(_ html: inout HTMLWriter) {
        html.element(
            "p", ["class": "product"],
            text: "Receipt Bridge \(snapshot.version) · status · \(snapshot.createdAt.displayText)")
        html.element("h1", text: snapshot.phase.words)
        html.element("p", ["class": "standing \(snapshot.phase == .ready ? "done" : "open")"], text: sentence)
        lastHour(&html)
    }

    private var sentence: String {
        let answered =
            snapshot.verdicts == 1 ? "One receipt was answered" : "\(snapshot.verdicts.grouped) receipts were answered"
        let warnings =
            switch snapshot.warnings.count {
            case 0: "There are no warnings."
            case 1: "There is one warning."
            default: "There are \(snapshot.warnings.count) warnings."
            }
        return "Up for \(snapshot.uptime.displayText). \(answered) since then. \(warnings)"
    }

    private var links: [(target: String, title: String)] {
        [
            ("#apps", "Apps"), ("#sources", "Sources"), ("#upstream", "App Store"), ("#budgets", "Calls left"),
            ("#notifications", "Notifications"), ("#process", "Process"), ("/comparisons", "Comparisons"),
            ("/customers", "Customers"), ("/metrics", "Metrics"), ("/openapi.json", "OpenAPI"),
        ]
    }

    /// Writes the warnings; nothing if there are none.
    private func warnings(_ html: inout HTMLWriter) {
        guard !snapshot.warnings.isEmpty else { return }
        html.element("section", ["class": "warnings", "aria-labelledby": "warnings"]) { html in
            html.element("h2", ["id": "warnings"], text: "Warnings")
            html.folding(snapshot.warnings, "more warnings") { warnings, html in
                html.element("ul") { html in
                    for warning in warnings { self.warning(warning, &html) }
                }
            }
        }
    }

    private func warning(_ warning: HealthWarning, _ html: inout HTMLWriter) {
        html.element("li") { html in
            html.element("span", ["class": "mark", "aria-hidden": "true"], text: "▲ ")
            html.untrusted(warning.detail, limit: 500)
            html.element("code", text: warning.code.rawValue)
        }
    }
}

extension LifecycleState.Phase {
    /// The heading of the page.
    fileprivate var words: String {
        switch self {
        case .starting: "Starting"
        case .ready: "Ready"
        case .draining: "Shutting down"
        }
    }
}
