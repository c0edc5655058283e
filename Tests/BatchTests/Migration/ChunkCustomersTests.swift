import Base
import Batch
import Cryptography
import Foundation
import Testing
import TestSupport

@Suite("Customers within a chunk")
struct ChunkCustomersTests {
    /// A decoded row with these ids.
    private func row(
        _ identifiers: [String], verified: Bool = true, expires: Int64? = nil, download: String? = nil
    ) throws -> DecodedRow {
        let object: [String: Any?] = [
            "number": 1, "id": "r",
            "outcome": !verified ? "refused" : identifiers.isEmpty ? "noTransactions" : "decoded", "kind": "appReceipt",
            "verified": verified, "repairs": [String](), "bundleId": "com.example.app",
            "originalTransactionIds": identifiers, "transactionIds": [String](), "unverifiedIds": [String](),
            "appTransactionId": download, "expires": expires, "claims": verified ? nil : identifiers,
        ]
        let json = try JSONSerialization.data(withJSONObject: object.compactMapValues { $0 })
        return try DecodedRow(encoded: [UInt8](json))
    }

    @Test("Rows that share an id are one customer with the latest expiry date; apps are separate")
    func union() throws {
        var customers = ChunkCustomers()
        let places = [
            customers.add(try row(["1", "2"], expires: 10), scope: 7),
            customers.add(try row(["3"], expires: 30), scope: 7),
            customers.add(try row(["2", "3"], expires: 20), scope: 7),
            customers.add(try row(["1"]), scope: 8),
            customers.add(try row([]), scope: 7),
        ]
        let (groups, indices) = customers.groups()
        #expect(
            groups == [
                .init(scope: 7, identifiers: ["1", "2", "3"], expires: 30, claims: nil),
                .init(scope: 8, identifiers: ["1"], expires: nil, claims: nil),
            ])
        #expect(places.map { $0.map { indices[$0] } } == [0, 0, 0, 1, nil])
    }

    @Test("A row that is not authentic never merges customers, and an app transaction is a customer of its own")
    func claims() throws {
        var customers = ChunkCustomers()
        _ = customers.add(try row(["1"]), scope: 7)
        _ = customers.add(try row(["2"]), scope: 7)
        _ = customers.add(try row(["1", "2"], verified: false, expires: 99), scope: 7)
        _ = customers.add(try row([], download: "5"), scope: 7)
        let digest = SHA.hex(Array("1 2".utf8), with: .sha256)
        #expect(
            customers.groups().groups == [
                .init(scope: 7, identifiers: ["1"], expires: nil, claims: nil),
                .init(scope: 7, identifiers: ["2"], expires: nil, claims: nil),
                .init(scope: 7, identifiers: ["claims:\(digest)"], expires: nil, claims: "1 2"),
                .init(scope: 7, identifiers: ["download:5"], expires: nil, claims: nil),
            ])
    }

    @Test("A shard is I/N", arguments: ["1/4", "4/4", "0/4", "5/4", "1/0", "1", "a/b", "-1/4", "1/2/3", "1/10001"])
    func shard(text: String) {
        #expect((SharedMigrationOptions.Shard(text) != nil) == ["1/4", "4/4"].contains(text))
    }
}
