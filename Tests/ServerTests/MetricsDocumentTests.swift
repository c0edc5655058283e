import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeStorage
import ReceiptBridgeBase
import Testing
import ReceiptBridgeTestSupport

@Suite("Dashboard and alerts")
struct MetricsDocumentTests {
    private func text(_ name: String) throws -> String {
        let docs = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs").standardized
        return try String(contentsOf: docs.appending(path: name), encoding: .utf8)
    }

    /// The families of the metrics that a text names.
    private func names(_ text: String) -> Set<String> {
        Set(
            text.matches(of: /(?:receipt_bridge|process)_[a-z_]+/).map { match in
                let name = String(match.output)
                let ending = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }
                return String(name.dropLast(ending?.count ?? 0))
            })
    }

    /// The metrics of a server with a store that has served nothing.
    private func metrics() async throws -> MetricsReading {
        try await Proxy.serving(with: .init(hasStore: true)) { try await $0.metrics() }
    }

    @Test("Dashboard and alerts use only existing metrics, and the dashboard shows all of them")
    func documents() async throws {
        let families = Set(try await metrics().families.keys)
        let dashboard = names(try text("grafana-dashboard.json"))
        #expect(dashboard.subtracting(families).sorted() == [])
        // Those are in the table of all counters.
        let events = MetricEvent.allCases.map(\.row.name)
        #expect(families.subtracting(dashboard).subtracting(events).sorted() == [])
        #expect(try text("grafana-dashboard.json").contains(#"__name__=~\"receipt_bridge_.+_total\""#))
        #expect(names(try text("prometheus-alerts.yml")).subtracting(families).sorted() == [])
        _ = try JSONSerialization.jsonObject(with: Data(try text("grafana-dashboard.json").utf8))
    }

    /// The samples of each counter and histogram that an alert uses, by name: the values of its labels.
    private static func alertedSamples() -> [String: [[String]]] {
        let apps = ["com.example.app", "other"]
        let sources = ["api", "apple", "receipt", "stored"]
        let environments = ["Production", "Sandbox"]
        let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, .infinity]
        let endpoints = [
            "verifyReceipt", "transactionInfo", "history", "statuses", "appTransactionInfo", "consumption",
            "notificationHistory", "extend", "appAccountToken", "orderLookup", "refundHistory", "massExtend",
            "testNotification",
        ]
        let statuses = ["0", "21000"] + (21_001...21_010).map { "\($0)" } + ["211xx", "other"]
        return [
            "upstream_requests_total": [endpoints, environments, UpstreamOutcome.texts],
            "verdicts_total": [apps, statuses, sources, environments],
            "authentication_failed_total": [ReceiptDecodingError.Code.texts],
            "would_repair_total": [ReceiptRepair.texts],
            "unexpected_types_total": [ClaimReader.names],
            "foreign_records_total": [environments],
            "verdict_duration_seconds_bucket": [sources, bounds.map(\.metricText)],
            "http_requests_total": [
                [
                    "/verifyReceipt", "/v1/receipts", "/v1/notifications", "/healthz", "/readyz", "/metrics", "/",
                    "other",
                ], ["200", "400", "500", "501", "504", "other"],
            ],
            "notifications_refused_total": [NotificationRejection.Code.allCases.map(\.rawValue)],
            "store_errors_total": [StorageError.Code.allCases.map(\.rawValue)],
            "shadow_comparisons_total": [apps, ["equal", "different", "failed", "dropped"]],
            "rollout_responses_total": [apps, ["equal", "different", "failed", "dropped", "otherSource", "waiting"]],
            "revocations_seen_total": [apps, environments],
        ]
    }

    @Test("Each counter of an alert exists from the start with every label, so that its first events are an increase")
    func zeros() async throws {
        let expected = Self.alertedSamples()
        let alerts = try text("prometheus-alerts.yml")
        let used = Set(alerts.matches(of: /receipt_bridge_([a-z_]+_(?:total|bucket))/).map { String($0.output.1) })
        #expect(used.sorted() == expected.keys.sorted())
        let samples = try await metrics().samples
        for (name, labels) in expected {
            let found = Set(
                samples.keys.filter { $0.hasPrefix("receipt_bridge_\(name){") }.map { key in
                    key.matches(of: /="([^"]*)"/).prefix(labels.count).map { String($0.output.1) }
                })
            let all = labels.reduce([[]]) { rows, values in rows.flatMap { row in values.map { row + [$0] } } }
            #expect(Set(all).subtracting(found) == [], "\(name)")
        }
    }

    @Test("Every declared metric family is exported, with the declared labels, and nothing else is")
    func declared() async throws {
        let metrics = try await metrics()
        let declared = Dictionary(uniqueKeysWithValues: MetricRow.all.map { ($0.name, $0.kind.rawValue) })
        #expect(metrics.families == declared)
        for key in metrics.samples.keys {
            let labels = key.matches(of: /([a-z_]+)="/).map { String($0.output.1) }.filter { $0 != "le" }
            let name = try #require(names(key).first)
            #expect(MetricRow.all.first { $0.name == name }?.labels == labels, "\(key)")
        }
    }

    @Test("docs/MONITORING.md lists every metric family; RECORD_GOLDENS=1 writes the list there and fails once")
    func listed() throws {
        let rows = MetricRow.all.map { family in
            let labels = family.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(family.name)` | \(family.kind.rawValue) | \(labels) | \(family.help) |\n"
        }
        let table = "| Metric | Type | Labels | |\n|---|---|---|---|\n" + rows.joined()
        #expect(
            try RecordedDocument.has(table, in: "docs/MONITORING.md", section: "metrics"),
            "\(RecordedDocument.hint)")
    }

    @Test("Each alert has a runbook paragraph, to which its runbook_url leads, and each paragraph an alert")
    func runbook() throws {
        let alerts = try text("prometheus-alerts.yml").split(separator: "- alert: ").dropFirst()
        let names = alerts.map { String($0.prefix { $0.isLetter }) }
        let paragraphs = try text("RUNBOOK.md").matches(of: /\n## (ReceiptBridge\w+)\n/).map { String($0.output.1) }
        #expect(!names.isEmpty && Set(names).count == names.count)
        #expect(names == paragraphs)
        for (name, alert) in zip(names, alerts) {
            let links = alert.matches(of: /\n +runbook_url: (.+)/).map { String($0.output.1) }
            #expect(links == ["docs/RUNBOOK.md#\(name.lowercased())"], "\(name)")
        }
    }

    @Test("One alert fires for each instance that cannot be scraped, another if there are no instances")
    func instances() throws {
        let rules = try text("prometheus-alerts.yml").matches(of: /- alert: (\w+)\n +expr: (.*\bup\{.*)\n/).map {
            "\($0.output.1): \($0.output.2)"
        }
        #expect(
            rules == [
                #"ReceiptBridgeDown: up{job="receipt-bridge"} == 0"#,
                #"ReceiptBridgeMissing: absent(up{job="receipt-bridge"})"#,
            ])
    }
}
