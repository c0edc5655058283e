import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation
package import ReceiptBridgeStorage

/// The customers that follow from the events of a store, applied to an empty view in ascending order as docs/EVENTS.md
/// describes it.
package struct EventReplay: Sendable {
    /// What is known of one customer: records without their date of signing, each as JSON with sorted members.
    package struct Customer: Sendable, Hashable {
        /// By transaction id.
        package var transactions: [String: String] = [:]
        package var revoked: Set<String> = []
        /// By original transaction id: status, group and renewal info.
        package var subscriptions: [String: String] = [:]

        package init() {}
    }

    private struct Subscription {
        var status = ""
        var group = ""
        var renewal = ""
    }

    /// The error for a body that is not as documented.
    package struct Malformed: Error {
        let body: String
    }

    /// Transactions and their customers, by app, environment and transaction id.
    private var transactions: [String: (customer: String?, original: String, json: String)] = [:]
    private var revoked: Set<String> = []
    private var subscriptions: [String: Subscription] = [:]
    package private(set) var erased: Set<String> = []
    package private(set) var count = 0

    package init() {}

    package mutating func apply(_ event: EventRow) throws {
        guard let body = try JSONSerialization.jsonObject(with: Data(event.body.utf8)) as? [String: Any],
            body["source"] is String
        else { throw Malformed(body: event.body) }
        count += 1
        let place = "\(event.app) \(event.environment) "
        func objects(_ name: String) -> [[String: Any]] { body[name] as? [[String: Any]] ?? [] }
        func texts(_ name: String) -> [String] { body[name] as? [String] ?? [] }
        if event.type == "erasure" {
            for (key, value) in transactions
            where key.hasPrefix(place) && value.customer.map(Self.digest) == event.customer {
                transactions[key] = nil
                revoked.remove(key)
            }
            erased.insert(event.customer)
        }
        for other in texts("merged") {
            for (key, value) in transactions where key.hasPrefix(place) && value.customer == other {
                transactions[key]?.customer = event.customer
            }
        }
        for transaction in objects("transactions") {
            guard let id = transaction["transactionId"] as? String,
                let original = transaction["originalTransactionId"] as? String
            else { throw Malformed(body: event.body) }
            transactions[place + id] = (event.customer, original, try Self.text(transaction))
            revoked.remove(place + id)
        }
        for revocation in objects("revocations") {
            guard let id = revocation["transactionId"] as? String else { throw Malformed(body: event.body) }
            revoked.insert(place + id)
        }
        for id in texts("reversedRevocations") { revoked.remove(place + id) }
        for renewal in objects("renewalInfos") {
            guard let original = renewal["originalTransactionId"] as? String else { throw Malformed(body: event.body) }
            subscriptions[place + original, default: Subscription()].renewal = try Self.text(renewal)
        }
        for status in objects("statuses") {
            guard let original = status["originalTransactionId"] as? String, let value = status["status"] as? Int
            else { throw Malformed(body: event.body) }
            subscriptions[place + original, default: Subscription()].status = "\(value)"
            if let group = status["subscriptionGroupIdentifier"] as? String {
                subscriptions[place + original]?.group = group
            }
        }
        for id in texts("detached") { transactions[place + id]?.customer = nil }
    }

    package func customers(in scope: AppScope) -> [String: Customer] {
        let place = "\(scope.bundleId.rawValue) \(scope.environment.rawValue) "
        var customers: [String: Customer] = [:]
        for (key, value) in transactions {
            guard key.hasPrefix(place), let customer = value.customer else { continue }
            let id = String(key.dropFirst(place.count))
            customers[customer, default: Customer()].transactions[id] = value.json
            if revoked.contains(key) { customers[customer]?.revoked.insert(id) }
            if let found = subscriptions[place + value.original], !found.status.isEmpty {
                customers[customer]?.subscriptions[value.original] = "\(found.status) \(found.group) \(found.renewal)"
            }
        }
        return customers
    }

    /// The current version of each transaction of an app in one environment.
    package func transactions(in scope: AppScope) -> [String: String] {
        let place = "\(scope.bundleId.rawValue) \(scope.environment.rawValue) "
        return transactions.reduce(into: [:]) { found, entry in
            if entry.key.hasPrefix(place) { found[String(entry.key.dropFirst(place.count))] = entry.value.json }
        }
    }

    private static func digest(_ key: String) -> String { "sha256:" + SHA.hex(Array(key.utf8), with: .sha256) }

    /// A record without its date of signing.
    private static func text(_ record: [String: Any]) throws -> String {
        var record = record
        record["signedDate"] = nil
        return String(decoding: try JSONSerialization.data(withJSONObject: record, options: .sortedKeys), as: UTF8.self)
    }

    /// The payload of a compact JWS, without its date of signing.
    package static func record(_ jws: String) throws -> String {
        let parts = jws.split(separator: ".")
        guard parts.count == 3 else { throw Malformed(body: jws) }
        var base64 = String(parts[1]).replacing("-", with: "+").replacing("_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.count % 4) % 4)
        guard let data = Data(base64Encoded: base64),
            let object = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        else { throw Malformed(body: jws) }
        return try text(object)
    }
}

extension EventReplay.Customer {
    package init(_ stored: StoredCustomer) throws {
        self.init()
        revoked = stored.revokedTransactionIds
        for jws in stored.transactions {
            let json = try EventReplay.record(jws)
            guard
                let object = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any],
                let id = object["transactionId"] as? String
            else { throw EventReplay.Malformed(body: json) }
            transactions[id] = json
        }
        for subscription in stored.subscriptions {
            let renewal = try subscription.renewal.map { try EventReplay.record($0) } ?? ""
            subscriptions[subscription.originalTransactionId] =
                "\(subscription.status) \(subscription.subscriptionGroupIdentifier ?? "") \(renewal)"
        }
    }
}
