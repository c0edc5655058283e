import AppStore
import Cryptography
import Foundation
import Logging
import Pipeline
import Rendering
import Simulator
import StoreTypes
import TestSupport
import Testing
import Transport

/// A difference that is known and meant, by name.
private enum ExpectedDifference: String, CaseIterable {
    /// Two answers are two requests.
    case requestDate
    /// Only Apple can sign a newer receipt: the submitted one goes back.
    case latestReceiptEcho
    /// The API names the group of a family member's subscription, verifyReceipt does not.
    case familySharedGroup
    /// A restored transaction has another id in verifyReceipt's list; the line item is the same.
    case restoredIdentifier
    /// verifyReceipt says "0" of an ended subscription where the API says nothing.
    case retryZero

    static func of(_ path: String, ours: Any?, theirs: Any?) -> ExpectedDifference? {
        if path.hasPrefix("receipt.request_date") { return .requestDate }
        if path == "latest_receipt" { return .latestReceiptEcho }
        if path == "latest_receipt_info[].subscription_group_identifier", theirs == nil { return .familySharedGroup }
        if path.hasSuffix(".transaction_id(same line item)") { return .restoredIdentifier }
        if path.hasSuffix("is_in_billing_retry_period"), ours == nil, theirs as? String == "0" { return .retryZero }
        return nil
    }
}

@Suite("The switch to the Server API")
struct EquivalenceTests {
    #if DEBUG
        private static let customers = 200
    #else
        private static let customers = 2_000
    #endif

    @Test("gives the answer of verifyReceipt, but for the differences that are known")
    func equivalence() async throws {
        let seed =
            ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_SEED"].flatMap { UInt64($0) } ?? .random(in: 1...9_999)
        print("RECEIPT_BRIDGE_SEED=\(seed)")
        let store = try SimulatedStore(
            seed: seed, customers: Self.customers, clock: .fixed(StandIn.noon), pki: try StandIn.pki)
        let port = try await store.start()
        let transport = try CurlTransport(CurlConfiguration(version: "test", proxy: .direct))
        let pipeline = try ServerAPIWorld.pipeline(store, port: port, transport: transport, answer: [.api])

        var tally = Tally()
        for receipt in store.receipts {
            let body = Array(Question.body(receipt.base64, password: SimulatedApp.first.sharedSecret, [:]))
            let reply = await pipeline.answer(body: body, route: .auto)
            #expect(reply.source == .api || receipt.originalTransactionIds.isEmpty, "\(receipt.id) by \(reply.source)")
            let theirs = try await apple(body, receipt.environment, port: port, transport: transport)
            let differences = Differences(
                ours: try JSONSerialization.jsonObject(with: Data(reply.answer.body)),
                theirs: try JSONSerialization.jsonObject(with: Data(theirs)))
            tally.add(differences, of: receipt.id)
        }
        await transport.shutDown()
        await store.stop()

        let counts = ExpectedDifference.allCases.map { "\($0.rawValue) \(tally.expected[$0] ?? 0)" }
        print("\(store.receipts.count) receipts of \(Self.customers) customers: \(counts.joined(separator: ", "))")
        #expect(tally.unexpected == [:])
        #expect((tally.expected[.requestDate] ?? 0) == 0, "time stands still")
        #expect((tally.expected[.latestReceiptEcho] ?? 0) > 0)
    }

    private func apple(
        _ body: [UInt8], _ environment: AppStoreEnvironment, port: Int, transport: CurlTransport
    ) async throws -> [UInt8] {
        let path = environment == .sandbox ? "sandbox" : "production"
        return try await transport.send(
            HTTPRequest(method: .post, url: "http://127.0.0.1:\(port)/\(path)/verifyReceipt", headers: [:], body: body)
        ).body
    }

    private struct Tally {
        var expected: [ExpectedDifference: Int] = [:]
        /// By path, with one receipt that shows it.
        var unexpected: [String: String] = [:]

        mutating func add(_ differences: Differences, of receipt: String) {
            for (path, ours, theirs) in differences.all {
                if let rule = ExpectedDifference.of(path, ours: ours, theirs: theirs) {
                    expected[rule, default: 0] += 1
                } else {
                    let words = [ours, theirs].map { "\($0 ?? "nothing")".prefix(60) }
                    unexpected[path] = "\(receipt): \(words[0]) in place of \(words[1])"
                }
            }
        }
    }

    /// Leaves of two documents that are not the same. Rows of latest_receipt_info count by position, those of
    /// pending_renewal_info by subscription: its order is nobody's promise.
    private struct Differences {
        private(set) var all: [(path: String, ours: Any?, theirs: Any?)] = []

        init(ours: Any, theirs: Any) {
            compare(ours, theirs, at: "")
        }

        private static func bySubscription(_ rows: [Any]) -> [Any] {
            func subscription(_ row: Any) -> String {
                (row as? [String: Any])?["original_transaction_id"] as? String ?? ""
            }
            return rows.sorted { subscription($0) < subscription($1) }
        }

        private mutating func compare(_ ours: Any?, _ theirs: Any?, at path: String) {
            if let ours = ours as? [String: Any], let theirs = theirs as? [String: Any] {
                let lineItem = ours["web_order_line_item_id"] as? String
                let isSameLineItem = lineItem != nil && lineItem == theirs["web_order_line_item_id"] as? String
                for key in Set(ours.keys).union(theirs.keys).sorted() {
                    let name = key == "transaction_id" && isSameLineItem ? "transaction_id(same line item)" : key
                    compare(ours[key], theirs[key], at: path.isEmpty ? name : "\(path).\(name)")
                }
            } else if let ours = ours as? [Any], let theirs = theirs as? [Any] {
                if ours.count != theirs.count { all.append(("\(path).count", ours.count, theirs.count)) }
                let ordered = [ours, theirs].map { path == "pending_renewal_info" ? Self.bySubscription($0) : $0 }
                for (left, right) in zip(ordered[0], ordered[1]) { compare(left, right, at: "\(path)[]") }
            } else if let ours = ours as? NSObject, let theirs = theirs as? NSObject, ours == theirs {
                return
            } else {
                all.append((path, ours, theirs))
            }
        }
    }
}
