import JSON
import AppStoreTypes

/// Reads the purchases and renewals of one of Apple's responses, with the position of each in the body.
enum ResponseRowReader {
    /// Returns the purchases in `receipt` and in the latest rows, and the renewals by original transaction id.
    static func read(_ outline: JSONOutline) -> (
        rows: [RestoredResponse.Row], renewals: [String: RestoredResponse.Renewal]
    ) {
        var rows: [RestoredResponse.Row] = []
        var renewals: [String: RestoredResponse.Renewal] = [:]
        let root = Members(of: 0, in: outline)
        if let receipt = root.index(of: "receipt") {
            let members = Members(of: receipt, in: outline)
            rows +=
                members.index(of: "in_app").map { all($0, in: outline, isLatest: false) } ?? [
                    row(receipt, in: outline, isFlat: true, isLatest: false)
                ]
        }
        for name in ["latest_receipt_info", "latest_expired_receipt_info"] {
            rows += root.index(of: name).map { all($0, in: outline, isLatest: true) } ?? []
        }
        for index in root.index(of: "pending_renewal_info").map({ Array(outline.children(of: $0)) }) ?? [] {
            let members = Members(of: index, in: outline)
            if let original = members.text("original_transaction_id") { renewals[original] = renewal(members) }
        }
        // The response to an iOS 6 receipt has the renewal at its top level, next to the receipt.
        if root.index(of: "auto_renew_status") != nil {
            for row in rows where row.isFlat {
                if let original = row.originalTransactionId { renewals[original] = renewal(root) }
            }
        }
        return (rows, renewals)
    }

    /// Returns the elements of an array, or the single object that an iOS 6 response has instead of an array.
    private static func all(_ index: Int, in outline: JSONOutline, isLatest: Bool) -> [RestoredResponse.Row] {
        guard outline.isArray(index) else { return [row(index, in: outline, isFlat: true, isLatest: isLatest)] }
        return outline.children(of: index).map { row($0, in: outline, isFlat: false, isLatest: isLatest) }
    }

    /// Reads one purchase from the object with the given node index.
    private static func row(
        _ index: Int, in outline: JSONOutline, isFlat: Bool, isLatest: Bool
    ) -> RestoredResponse.Row {
        let members = Members(of: index, in: outline)
        return RestoredResponse.Row(
            end: outline.nodes[index].value.whole.upperBound - 1, isFlat: isFlat, isLatest: isLatest,
            transactionId: members.text("transaction_id"),
            originalTransactionId: members.text("original_transaction_id"),
            webOrderLineItemId: members.text("web_order_line_item_id"),
            // In a flat response, this key contains milliseconds.
            expires: members.date("expires_date_ms") ?? (isFlat ? members.date("expires_date") : nil),
            isCancelled: members.index(of: "cancellation_date") != nil
                || members.index(of: "cancellation_date_ms") != nil,
            isUpgraded: members.text("is_upgraded") == "true")
    }

    /// Reads the renewal state of a subscription.
    private static func renewal(_ members: Members) -> RestoredResponse.Renewal {
        RestoredResponse.Renewal(
            isOn: members.text("auto_renew_status").map { $0 != "0" },
            isRetrying: members.text("is_in_billing_retry_period") == "1",
            graceEnds: members.date("grace_period_expires_date_ms"))
    }

    /// The members of an object by name. If a name occurs more than once, the last member counts.
    private struct Members {
        private let outline: JSONOutline
        /// The node indices by name.
        private var indices: [String: Int] = [:]

        init(of object: Int, in outline: JSONOutline) {
            self.outline = outline
            guard outline.isObject(object) else { return }
            for member in outline.children(of: object) where !outline.isNull(member) {
                if let name = outline.name(member) { indices[name] = member }
            }
        }

        /// Returns the node index of a member; `nil` if it is absent or `null`.
        func index(of name: String) -> Int? { indices[name] }

        /// Returns a text; a number is returned as written.
        func text(_ name: String) -> String? {
            guard let index = indices[name] else { return nil }
            switch outline.nodes[index].value {
            case .string(let string): return string.text(in: outline.bytes.span)
            case .scalar(let range): return String(decoding: outline.bytes[range], as: UTF8.self)
            case .container: return nil
            }
        }

        /// Returns a date in milliseconds; `nil` if it is absent or not a number.
        func date(_ name: String) -> Timestamp? {
            text(name).flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) }
        }
    }
}
