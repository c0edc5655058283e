import ReceiptBridgeComparison
import Foundation

/// A known and intended difference between our response and verifyReceipt's. The raw values are names of
/// ``ComparisonRules``.
enum ExpectedDifference: String, CaseIterable {
    /// The two responses have two request dates.
    case requestDate
    /// Only Apple can sign a newer receipt, so the submitted one is returned.
    case latestReceiptEcho
    /// The API names the subscription group of a family member's subscription, verifyReceipt does not.
    case familySharedGroup
    /// A restored transaction has another id in verifyReceipt's list, but the same line item.
    case restoredIdentifier
    /// verifyReceipt returns "0" for an ended subscription, for which the API returns nothing.
    case retryZero
    /// verifyReceipt lists a consumable that the app has not finished. The API does not say which ones these are.
    case unfinishedConsumable
    /// A consumable that the records say was refunded has no row in our response. The simulator's response has one.
    case refundedConsumable
    /// verifyReceipt's list ends at 100 rows, such consumables included; ours ends at 100 rows without them.
    case capOf100
    /// A subscription of iOS 6 that changed its product. Only a receipt holds the item id of the new product.
    case itemIdOfOtherProduct
    /// A redeemed offer code. Receipts and verifyReceipt have its UUID and its name, the API has its name only.
    case offerCodeUUID

    static func of(_ path: String, ours: Any?, theirs: Any?) -> ExpectedDifference? {
        if path.hasPrefix("receipt.request_date") { return .requestDate }
        if path == "latest_receipt", ours != nil, theirs != nil { return .latestReceiptEcho }
        if path == "latest_receipt_info[].subscription_group_identifier", theirs == nil { return .familySharedGroup }
        if path.hasSuffix(".transaction_id(same line item)") { return .restoredIdentifier }
        if path.hasSuffix("is_in_billing_retry_period"), ours == nil, theirs as? String == "0" { return .retryZero }
        if path == "latest_receipt_info(consumable)", ours == nil { return .unfinishedConsumable }
        if path.hasSuffix("(refunded consumable)"), ours == nil { return .refundedConsumable }
        if path == "latest_receipt_info(beyond 100)", theirs == nil { return .capOf100 }
        if ["latest_receipt_info.item_id", "latest_expired_receipt_info.item_id"].contains(path), ours == nil {
            return .itemIdOfOtherProduct
        }
        if path == "latest_receipt_info[].promotional_offer_id", ours == nil { return .offerCodeUUID }
        return nil
    }
}

/// The leaf values in which two responses differ. Rows of `latest_receipt_info` are matched by position, those of
/// `pending_renewal_info` by subscription, because Apple does not promise their order.
struct LeafDifferences {
    private(set) var all: [(path: String, ours: Any?, theirs: Any?)] = []
    /// The number of rows of refunded consumables in verifyReceipt's `latest_receipt_info`.
    private var refundedRows = 0

    /// - Parameters:
    ///   - consumables: the ids of consumables that verifyReceipt lists in `latest_receipt_info` only if the app has
    ///     not finished them.
    ///   - refunded: the ids of refunded consumables, of which our response has no row.
    init(ours: [UInt8], theirs: [UInt8], consumables: Set<String> = [], refunded: Set<String> = []) throws {
        var ours = try JSONSerialization.jsonObject(with: Data(ours))
        var theirs = try JSONSerialization.jsonObject(with: Data(theirs))
        removeRefunded(refunded, from: &theirs)
        alignLatestRows(&ours, &theirs, consumables)
        compare(ours, theirs, at: "")
    }

    /// Removes the rows of refunded consumables from an App Receipt's response.
    private mutating func removeRefunded(_ refunded: Set<String>, from theirs: inout Any) {
        guard var answer = theirs as? [String: Any] else { return }
        func isRefunded(_ row: [String: Any]) -> Bool {
            (row["transaction_id"] as? String).map(refunded.contains) ?? false
        }
        if var receipt = answer["receipt"] as? [String: Any], let rows = receipt["in_app"] as? [[String: Any]] {
            for row in rows where isRefunded(row) { all.append(("receipt.in_app(refunded consumable)", nil, row)) }
            receipt["in_app"] = rows.filter { !isRefunded($0) }
            answer["receipt"] = receipt
        }
        if let rows = answer["latest_receipt_info"] as? [[String: Any]] {
            for row in rows where isRefunded(row) {
                all.append(("latest_receipt_info(refunded consumable)", nil, row))
                refundedRows += 1
            }
            answer["latest_receipt_info"] = rows.filter { !isRefunded($0) }
        }
        theirs = answer
    }

    /// Removes the rows that only one list has because of unfinished consumables.
    private mutating func alignLatestRows(_ ours: inout Any, _ theirs: inout Any, _ consumables: Set<String>) {
        guard var own = ours as? [String: Any], var other = theirs as? [String: Any],
            let ownRows = own["latest_receipt_info"] as? [[String: Any]],
            let otherRows = other["latest_receipt_info"] as? [[String: Any]]
        else { return }
        func isUnfinished(_ row: [String: Any]) -> Bool {
            (row["transaction_id"] as? String).map(consumables.contains) ?? false
        }
        for row in otherRows where isUnfinished(row) { all.append(("latest_receipt_info(consumable)", nil, row)) }
        let finished = otherRows.filter { !isUnfinished($0) }
        // In a full list each unfinished consumable replaces an older row. The oldest rows are at one end.
        let count = otherRows.count + refundedRows == 100 ? max(ownRows.count - finished.count, 0) : 0
        func date(_ row: [String: Any]?) -> Int { Int(row?["purchase_date_ms"] as? String ?? "") ?? 0 }
        let isNewestFirst = date(ownRows.first) > date(ownRows.last)
        for row in isNewestFirst ? ownRows.suffix(count) : ownRows.prefix(count) {
            all.append(("latest_receipt_info(beyond 100)", row, nil))
        }
        own["latest_receipt_info"] = Array(isNewestFirst ? ownRows.dropLast(count) : ownRows.dropFirst(count))
        other["latest_receipt_info"] = finished
        (ours, theirs) = (own, other)
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

/// Counts the differences of many responses by rule.
struct AnswerTally {
    private(set) var expected: [ExpectedDifference: Int] = [:]
    /// By path, with one receipt as an example.
    private(set) var unexpected: [String: String] = [:]

    mutating func add(_ differences: LeafDifferences, of receipt: String) {
        for (path, ours, theirs) in differences.all {
            if let rule = ExpectedDifference.of(path, ours: ours, theirs: theirs) {
                expected[rule, default: 0] += 1
            } else {
                let values = [ours, theirs].map { "\($0 ?? "nothing")".prefix(60) }
                unexpected[path] = "\(receipt): \(values[0]) instead of \(values[1])"
            }
        }
    }

    /// A summary for the output of the test.
    var counts: String {
        ExpectedDifference.allCases.map { "\($0.rawValue) \(expected[$0] ?? 0)" }.joined(separator: ", ")
    }

    /// Raw values that are not the name of a comparison rule.
    static var unknownRules: [String] {
        let names = Set(ComparisonRules.all.map(\.name))
        return ExpectedDifference.allCases.map(\.rawValue).filter { !names.contains($0) }
    }
}
