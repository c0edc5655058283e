import ReceiptBridgeBase

/// Compares subscription renewals and entitlement.
extension Comparison {
    /// Ids that renewals are matched by, the most specific first.
    static let renewalIdentifiers: [RowField] = [.originalTransactionId, .productId]

    /// Compares `pending_renewal_info` with the renewals. Does nothing if the statuses were not recorded.
    mutating func compareRenewals() {
        guard left.renewals != nil || right.renewals != nil, right.form != .records || right.renewals != nil else {
            return
        }
        let matching = RowMatching(left.renewals ?? [], right.renewals ?? [], by: Self.renewalIdentifiers)
        let expiries = newestPeriods().mapValues(\.expiresDate)
        for (one, other) in matching.pairs {
            let expiry = one.identifier(.originalTransactionId).flatMap { expiries[$0] ?? nil }
            for field in RowField.renewalFields where one[field] != other[field] {
                if one[field] == nil, isAlwaysAbsent(field) { continue }
                compare(.renewals, field.name, one[field], other[field], rows: (one, other), expiresDate: expiry)
            }
            if right.form == .records {
                for extra in one.extras { compare(.renewals, extra.name, extra.value, nil, rows: (one, other)) }
                for extra in other.extras { compare(.renewals, extra.name, nil, extra.value, rows: (one, other)) }
                continue
            }
            guard one.extras != other.extras else { continue }
            for (name, left, right) in ComparedRow.Extra.pairs(one.extras, other.extras) {
                compare(.renewals, name, left, right, rows: (one, other))
            }
        }
        reportMissing(matching.onlyLeft, .renewals, isLeft: true)
        reportMissing(matching.onlyRight, .renewals, isLeft: false)
        compareOrder(matching, .renewals)
    }

    /// Of the four renewal keys of iOS 6 responses, two are always present and two only with status 21006.
    private func isAlwaysAbsent(_ field: RowField) -> Bool {
        guard left.form == .flatAnswer, right.form == .records else { return false }
        let isExpired = left.status == Int64(VerifyReceiptStatus.subscriptionExpired.rawValue)
        switch field {
        case .autoRenewProductId, .autoRenewStatus: return false
        case .expirationIntent, .isInBillingRetryPeriod: return !isExpired
        default: return true
        }
    }

    /// By original transaction id. Periods that give access while they run have precedence, because a canceled or
    /// upgraded period can end years after the one that replaced it.
    private func newestPeriods() -> [String: ComparedRow] {
        periods { row, expiry in (row.givesAccess ? 1 : 0, expiry.milliseconds) }
    }

    /// Returns the most recently purchased period of each subscription, by original transaction id.
    private func lastBoughtPeriods() -> [String: ComparedRow] {
        periods { row, expiry in ((row.purchaseDate ?? expiry).milliseconds, row.givesAccess ? 1 : 0) }
    }

    /// Returns the highest-ranked period of each subscription, by original transaction id.
    private func periods(by rank: (ComparedRow, Timestamp) -> (Int64, Int64)) -> [String: ComparedRow] {
        var highest: [String: (row: ComparedRow, rank: (Int64, Int64))] = [:]
        for row in UniqueRows(left.latest ?? left.snapshot).rows {
            guard let id = row.identifier(.originalTransactionId), let expiry = row.expiresDate else { continue }
            let newRank = rank(row, expiry)
            if let best = highest[id], best.rank >= newRank { continue }
            highest[id] = (row: row, rank: newRank)
        }
        return highest.mapValues { $0.row }
    }

    /// verifyReceipt gives access while a period runs that was neither canceled nor upgraded. The App Store Server API
    /// states it as a status.
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
            // The grace period extends the most recently purchased period. If that period was refunded, there is no
            // extension.
            let isInGrace = last.givesAccess && grace > now
            let hasAccess = isInGrace || row.givesAccess && expiry > now
            // The list does not contain the period that an upgraded one was upgraded to, so the subscription may
            // still be active.
            let isOpen = last.isUpgraded && (last.expiresDate ?? now) > now
            let isContradicted = hasAccess ? status == 2 || status == 5 : status == 1 && !isOpen
            guard isContradicted else { continue }
            report(
                ComparisonFinding(
                    part: .subscriptions, subject: .field("status"),
                    verifyReceipt: .text(hasAccess ? "active" : "over"),
                    serverAPI: .number(status), left: row, expiresDate: expiry))
        }
    }
}
