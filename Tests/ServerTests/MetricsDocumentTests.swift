import Foundation
import Pipeline
import TestSupport
import Testing

@Suite("Dashboard and alerts")
struct MetricsDocumentTests {
    private func text(_ name: String) throws -> String {
        let docs = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs").standardized
        return try String(contentsOf: docs.appending(path: name), encoding: .utf8)
    }

    /// Metrics that a text names, by their families.
    private func names(_ text: String) -> Set<String> {
        Set(
            text.matches(of: /(?:receipt_bridge|process)_[a-z_]+/).map { match in
                let name = String(match.output)
                let ending = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }
                return String(name.dropLast(ending?.count ?? 0))
            })
    }

    private func families() async throws -> Set<String> {
        let folder = try TemporaryFolder()
        return try await Proxy.serving({ settings, _ in settings.storePath = folder.path("bridge.sqlite") }) {
            Set(try await $0.metrics().families.keys)
        }
    }

    @Test("name metrics that the server has, and the dashboard shows all of them")
    func metrics() async throws {
        let families = try await families()
        let dashboard = names(try text("grafana-dashboard.json"))
        #expect(dashboard.subtracting(families).sorted() == [])
        #expect(families.subtracting(dashboard).sorted() == [])
        #expect(names(try text("prometheus-alerts.yml")).subtracting(families).sorted() == [])
        _ = try JSONSerialization.jsonObject(with: Data(try text("grafana-dashboard.json").utf8))
    }

    @Test("each alert has a paragraph that says what to do, and each paragraph an alert")
    func runbook() throws {
        let alerts = try text("prometheus-alerts.yml").matches(of: /- alert: (\w+)/).map { String($0.output.1) }
        let paragraphs = try text("OPERATIONS.md").matches(of: /\n### (ReceiptBridge\w+)\n/).map {
            String($0.output.1)
        }
        #expect(!alerts.isEmpty && Set(alerts).count == alerts.count)
        #expect(alerts == paragraphs)
    }
}
