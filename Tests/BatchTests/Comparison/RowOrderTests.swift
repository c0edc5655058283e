import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeBatch
import ReceiptBridgeCore
import ReceiptBridgeComparison
import Foundation
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Clients that take the first or the last row of latest_receipt_info as the current purchase")
struct RowOrderTests {
    /// The end of a list that a client reads.
    private enum Client: CaseIterable {
        case first, last

        /// Returns the transaction id that the client takes as the current purchase.
        func current(in answer: [UInt8]) throws -> String {
            let rows = try Recordings.object(answer)["latest_receipt_info"] as? [[String: Any]] ?? []
            return (self == .first ? rows.first : rows.last)?["transaction_id"] as? String ?? ""
        }
    }

    /// A combination of what Apple responds and what is configured.
    private struct Case {
        let environment: AppStoreEnvironment
        let applesOrder: AnswerOptions.Order
        let setting: AnswerOptions.Order

        static var all: [Case] {
            [AppStoreEnvironment.production, .sandbox].flatMap { environment in
                [AnswerOptions.Order.descending, .ascending].flatMap { order in
                    AnswerOptions.Order.allCases.map { Case(environment: environment, applesOrder: order, setting: $0) }
                }
            }
        }
    }

    @Test("Tests/Pages/row-order.md has the table of both clients; RECORD_GOLDENS=1 writes it there and fails once")
    func clients() async throws {
        let recordings = try await Recordings.world
        var lines = [
            "| environment | Apple's newest row | `latestReceiptInfoOrder` | reads the first row | reads the last row | comparison |",
            "|---|---|---|---|---|---|",
        ]
        for row in Case.all {
            let pair = try pair(in: row, recordings)
            var settings = Recordings.settings(recordings.store, port: 9)
            settings.apps[0].latestReceiptInfoOrder = row.setting
            let renderer = try BatchVerifyReceipt(settings: settings, trust: recordings.trust, transport: nil)
            let receipt = ReceiptReader(trust: recordings.trust).read(Array((pair.receipt ?? "").utf8))
            let records = try RecordedRecords(
                history: [try JSONSerialization.data(withJSONObject: pair.history ?? [:])].map { [UInt8]($0) },
                statuses: [UInt8](try JSONSerialization.data(withJSONObject: pair.statuses ?? [:])),
                verifier: (SignedPayloadVerifier(trust: recordings.trust), SharedSimulator.noon)
            ).records
            let ours = try #require(renderer.rendered(for: receipt, records: records, at: SharedSimulator.noon))
            let apples = try [UInt8](JSONSerialization.data(withJSONObject: pair.verifyReceipt))
            let cells = try Client.allCases.map { client in
                let (before, after) = (try client.current(in: apples), try client.current(in: ours))
                return before == after ? "the same row" : "**another row**"
            }
            let differences = try await compare(pair, row.setting)
            #expect(differences.isEmpty == (cells == ["the same row", "the same row"]))
            lines.append(
                """
                | \(row.environment.rawValue) | \(row.applesOrder == .descending ? "first" : "last") | \
                `\(row.setting.rawValue)` | \(cells.joined(separator: " | ")) | \
                \(differences.isEmpty ? "no difference" : differences.joined(separator: "; ")) |
                """)
        }
        #expect(
            try RecordedDocument.has(
                lines.joined(separator: "\n") + "\n", in: "Tests/Pages/row-order.md"),
            "\(RecordedDocument.hint)")
    }

    /// A recorded pair of a customer with several periods, with Apple's list in the order of the case.
    private func pair(in row: Case, _ recordings: Recordings) throws -> Recordings.Pair {
        func date(_ row: [String: Any]) -> Int64 { (row["purchase_date_ms"] as? String).flatMap { Int64($0) } ?? 0 }
        for var pair in recordings.pairs where pair.verifyReceipt["environment"] as? String == row.environment.rawValue
        {
            let rows = pair.verifyReceipt["latest_receipt_info"] as? [[String: Any]] ?? []
            guard (3...20).contains(rows.count), Set(rows.map(date)).count == rows.count else { continue }
            pair.verifyReceipt["latest_receipt_info"] = rows.sorted {
                row.applesOrder == .descending ? date($0) > date($1) : date($0) < date($1)
            }
            pair.receipt = recordings.store.receipts.first { $0.id == pair.id }?.base64
            return pair
        }
        throw SharedSimulator.Missing(what: "a customer with several periods")
    }

    /// Returns the differences that `compare` reports of the order: both sides, and the setting.
    private func compare(_ pair: Recordings.Pair, _ order: AnswerOptions.Order) async throws -> [String] {
        let comparer = try await Recordings.world.comparer { $0.latestReceiptInfoOrder = order }
        let outcome = try await Recordings.compare(try pair.line, by: comparer, workers: 1)
        let differences = outcome.differences.filter {
            ["order", "innerOrder"].contains($0["rule"] as? String ?? "")
        }
        let sentence = outcome.sentences.joined()
        for difference in differences {
            #expect(sentence.contains("order disappears with \(difference["setting"] ?? "")."), "\(sentence)")
        }
        return differences.map {
            "\($0["class"] ?? "") `\($0["rule"] ?? "")`: \($0["verifyReceipt"] ?? "") against \($0["serverAPI"] ?? ""), "
                + "`\($0["setting"] ?? "")`"
        }
    }
}
