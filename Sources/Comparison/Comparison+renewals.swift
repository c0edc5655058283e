import StoreTypes

/// How subscriptions go on, and whether they give access.
extension Comparison {
    /// What renewals are matched by, the most telling first.
    static let renewalIdentifiers: [RowField] = [.originalTransactionId, .productId]

    mutating func compareRenewals() {
        guard left.renewals != nil || right.renewals != nil, right.form != .records || right.renewals != nil else {
            return
        }
        let matching = RowMatching(left.renewals ?? [], right.renewals ?? [], by: Self.renewalIdentifiers)
        let expiries = newestPeriods().mapValues(\.expiresDate)
        for (one, other) in matching.pairs {
            let expiry = one.identifier(.originalTransactionId).flatMap { expiries[$0] ?? nil }
            for field in RowField.renewalFields where one[field] != other[field] {
                if one[field] == nil, isUnsaid(field) { continue }
                compare(.renewals, field.name, one[field], other[field], rows: (one, other), expiresDate: expiry)
            }
            for extra in one.extras where right.form == .records {
                compare(.renewals, extra.name, extra.value, nil, rows: (one, other))
            }
            guard right.form != .records else { continue }
            compareExtras(one.extras, other.extras) { comparison, name, left, right in
                comparison.compare(.renewals, name, left, right, rows: (one, other))
            }
        }
        reportMissing(matching.onlyLeft, .renewals, isLeft: true)
        reportMissing(matching.onlyRight, .renewals, isLeft: false)
    }

    /// An iOS 6 answer says of the renewal what its four keys say: two of them always, two with 21006 only.
    private func isUnsaid(_ field: RowField) -> Bool {
        guard left.form == .flatAnswer, right.form == .records else { return false }
        let isOver = left.status == Int64(VerifyReceiptStatus.subscriptionExpired.rawValue)
        switch field {
        case .autoRenewProductId, .autoRenewStatus: return false
        case .expirationIntent, .isInBillingRetryPeriod: return !isOver
        default: return true
        }
    }

    /// verifyReceipt's newest period of each subscription.
    private func newestPeriods() -> [String: ComparedRow] {
        var newest: [String: ComparedRow] = [:]
        for row in left.latest ?? left.snapshot {
            guard let id = row.identifier(.originalTransactionId), let expiry = row.expiresDate else { continue }
            if let known = newest[id]?.expiresDate, known >= expiry { continue }
            newest[id] = row
        }
        return newest
    }

    /// verifyReceipt gives access while a period runs that was not cancelled; the statuses say it by a number.
    ///
    /// https://developer.apple.com/documentation/appstoreserverapi/status
    mutating func compareEntitlements() {
        guard right.form == .records, left.latest != nil, let now = circumstances.now else { return }
        for (id, row) in newestPeriods().sorted(by: { $0.key < $1.key }) {
            guard let status = right.statuses[id], let expiry = row.expiresDate else { continue }
            let grace = left.renewals?.first { $0.identifier(.originalTransactionId) == id }?[.gracePeriodExpiresDate]
            let isCancelled = row[.revocationDate] != nil && !row.isUpgraded
            let end = max(expiry, grace?.instant ?? expiry)
            let hasAccess = end > now && !isCancelled
            let isContradicted = hasAccess ? status == 2 || status == 5 : status == 1
            guard isContradicted else { continue }
            report(
                Finding(
                    part: .subscriptions, subject: .field("status"),
                    verifyReceipt: .text(hasAccess ? "active" : "over"),
                    serverAPI: .number(status), left: row, expiresDate: expiry))
        }
    }
}
