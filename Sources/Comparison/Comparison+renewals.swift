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

    /// verifyReceipt's newest period of each subscription: of those that give access while they run, where there are
    /// any, for one that was cancelled or upgraded may end years after the one that came next.
    private func newestPeriods() -> [String: ComparedRow] {
        periods { row, expiry in (row.givesAccess ? 1 : 0, expiry.milliseconds) }
    }

    /// verifyReceipt's last bought period of each subscription.
    private func lastBoughtPeriods() -> [String: ComparedRow] {
        periods { row, expiry in ((row.purchaseDate ?? expiry).milliseconds, row.givesAccess ? 1 : 0) }
    }

    /// The highest period of each subscription, by its rank.
    private func periods(by rank: (ComparedRow, Timestamp) -> (Int64, Int64)) -> [String: ComparedRow] {
        var highest: [String: (row: ComparedRow, rank: (Int64, Int64))] = [:]
        for row in UniqueRows(left.latest ?? left.snapshot).rows {
            guard let id = row.identifier(.originalTransactionId), let expiry = row.expiresDate else { continue }
            let own = rank(row, expiry)
            if let known = highest[id], known.rank >= own { continue }
            highest[id] = (row: row, rank: own)
        }
        return highest.mapValues { $0.row }
    }

    /// verifyReceipt gives access while a period runs that was neither cancelled nor upgraded; the statuses say it by a
    /// number.
    ///
    /// https://developer.apple.com/documentation/appstoreserverapi/status
    mutating func compareEntitlements() {
        guard right.form == .records, left.latest != nil, let now = facts.now else { return }
        let lastBought = lastBoughtPeriods()
        for (id, row) in newestPeriods().sorted(by: { $0.key < $1.key }) {
            guard let status = right.statuses[id], let expiry = row.expiresDate, let last = lastBought[id] else {
                continue
            }
            let renewal = left.renewals?.first { $0.identifier(.originalTransactionId) == id }
            let grace = renewal?[.gracePeriodExpiresDate]?.instant ?? expiry
            // Grace extends the last bought period; where that one was refunded, it extends none.
            let isInGrace = last.givesAccess && grace > now
            let hasAccess = isInGrace || row.givesAccess && expiry > now
            // What an upgraded period was upgraded to is not in the list: nothing says that it is over.
            let isOpen = last.isUpgraded && (last.expiresDate ?? now) > now
            let isContradicted = hasAccess ? status == 2 || status == 5 : status == 1 && !isOpen
            guard isContradicted else { continue }
            report(
                Finding(
                    part: .subscriptions, subject: .field("status"),
                    verifyReceipt: .text(hasAccess ? "active" : "over"),
                    serverAPI: .number(status), left: row, expiresDate: expiry))
        }
    }
}
