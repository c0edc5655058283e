import ReceiptBridgeBase
import ReceiptBridgeResponses

/// Compares the status, the app, and the properties that are not in lists.
extension Comparison {
    /// Records have no status, so 0 is assumed for them, or 21003 if the local signature check failed.
    mutating func compareStatus() {
        let valid = Int64(VerifyReceiptStatus.valid.rawValue)
        let notAuthentic = Int64(VerifyReceiptStatus.notAuthentic.rawValue)
        if right.form == .records {
            // Records exist only for receipts that are authentic, unless the local signature check says otherwise.
            let ours = context.isAuthentic == false ? notAuthentic : valid
            let isSettled = left.isVerdict ? ours == valid : left.status == ours
            if !isSettled { compare(.answer, "status", left.status.map(ComparedValue.number), .number(ours)) }
        } else {
            compare(
                .answer, "status", left.status.map(ComparedValue.number), right.status.map(ComparedValue.number),
                expiresDate: [left, right].compactMap(\.newest?.expiresDate).max())
        }
    }

    mutating func compareApp() {
        compare(.receipt, "bundleId", left.bundleId, right.bundleId)
        compare(.answer, "environment", left.environment, right.environment)
        // `appAppleId` can be missing in recorded pages, and Apple omits it in the sandbox.
        let isSilent =
            left.form == .flatAnswer && left.appAppleId == nil
            || right.appAppleId == nil && left.appAppleId != 0
                && [left.environment, right.environment].contains(AppStoreEnvironment.production.rawValue)
        if right.form != .records || !isSilent {
            compare(
                .receipt, "appAppleId", left.appAppleId.map(ComparedValue.number),
                right.appAppleId.map(ComparedValue.number))
        }
    }

    /// Compares only what both sides can contain: iOS 6 responses have no environment, and recorded histories may
    /// have no bundle id.
    private mutating func compare(_ part: ComparisonFinding.Part, _ name: String, _ left: String?, _ right: String?) {
        if self.left.form == .flatAnswer, left == nil, part == .answer { return }
        if self.right.form == .records, right == nil { return }
        compare(part, name, left.map(ComparedValue.text), right.map(ComparedValue.text))
    }

    /// Compares the properties that only verifyReceipt responses have.
    mutating func compareProperties() {
        guard right.form != .records else {
            let excluded = Set(AnswerField.repetitions.map(\.rawValue))
            for property in left.properties where !excluded.contains(property.name) && !property.isOfReceipt {
                compare(.answer, property.name, property.value, nil)
            }
            return
        }
        guard left.properties != right.properties else { return }
        for (name, left, right) in ComparedRow.Extra.pairs(left.properties, right.properties) {
            let isOfReceipt = name.hasPrefix("receipt.")
            compare(isOfReceipt ? .receipt : .answer, isOfReceipt ? String(name.dropFirst(8)) : name, left, right)
        }
    }
}

extension ComparedRow.Extra {
    /// `true` if the property belongs to the receipt. The App Store Server API returns no receipt properties.
    fileprivate var isOfReceipt: Bool { name.hasPrefix("receipt.") }
}
