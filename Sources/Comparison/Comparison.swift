import StoreTypes

/// Compares two sides and names every difference. A value: no clock, no I/O.
///
/// What one form of answer never has (prices in verifyReceipt, account tokens in `in_app`) is no difference; all else
/// that differs is reported, by the first rule of ``ComparisonRules`` that fits, and as `unexplained` where none does.
package struct Comparison {
    /// In the order of the documents.
    package private(set) var differences: [Difference] = []

    let left: ComparedAnswer
    let right: ComparedAnswer
    let context: ComparisonContext
    var facts: ComparisonFacts

    /// Compares.
    ///
    /// - Parameters:
    ///   - verifyReceipt: Apple's verifyReceipt.
    ///   - serverAPI: the records of the App Store Server API, or an answer that was made of them.
    package init(verifyReceipt: ComparedAnswer, serverAPI: ComparedAnswer, context: ComparisonContext) {
        left = verifyReceipt
        right = serverAPI
        self.context = context
        facts = ComparisonFacts(verifyReceipt, serverAPI, context)
        compareStatus()
        guard left.isVerdict, right.form == .records || right.isVerdict else { return }
        compareApp()
        compareProperties()
        compareRows()
        compareRenewals()
        compareEntitlements()
    }

    /// Whether all of verifyReceipt's answer had something to be compared with: of the App Store Server API's side a part
    /// may not have been recorded.
    package var isWhole: Bool {
        guard left.isVerdict, right.form == .records else { return true }
        let hasRows = !left.snapshot.isEmpty || left.latest?.isEmpty == false
        return (right.latest != nil || !hasRows) && (right.renewals != nil || left.renewals?.isEmpty != false)
    }

    /// Names a finding, and keeps it unless the app's owner ignores it.
    mutating func report(_ finding: Finding) {
        let rule =
            ComparisonRules.all.first { $0.names(finding, facts) } ?? ComparisonRules.unexplained
        let verdict: ComparisonRule.Class
        switch context.overrides[rule.name] {
        case .ignore?: return
        case .expected?: verdict = .expected
        case .unexpected?: verdict = .unexpected
        case nil: verdict = rule.verdict
        }
        differences.append(
            Difference(
                receipt: context.receipt, path: finding.path, identifier: finding.identifier, verdict: verdict,
                rule: rule.name, isInformational: rule.isInformational, isVolatile: rule.isVolatile,
                verifyReceipt: finding.verifyReceipt?.truncated, serverAPI: finding.serverAPI?.truncated))
    }

    /// Reports two values that are not the same.
    mutating func compare(
        _ part: Finding.Part, _ name: String, _ left: ComparedValue?, _ right: ComparedValue?,
        rows: (left: ComparedRow?, right: ComparedRow?) = (nil, nil), expiresDate: Timestamp? = nil
    ) {
        guard left != right else { return }
        report(
            Finding(
                part: part, subject: .field(name), verifyReceipt: left, serverAPI: right, left: rows.left,
                right: rows.right, expiresDate: expiresDate ?? rows.left?.expiresDate ?? rows.right?.expiresDate))
    }
}

extension ComparedAnswer {
    /// 0 and 21006 tell of purchases; all other statuses of none. An answer without a status is one that was kept
    /// without it.
    var isVerdict: Bool {
        status.map {
            $0 == Int64(VerifyReceiptStatus.valid.rawValue)
                || $0 == Int64(VerifyReceiptStatus.subscriptionExpired.rawValue)
        } ?? true
    }
}

extension Finding {
    /// Without ids.
    fileprivate var path: String {
        let place =
            switch part {
            case .answer: ""
            case .receipt: "receipt"
            case .snapshot, .latest, .renewals, .subscriptions: part.rawValue
            }
        switch subject {
        case .order: return place
        case .row, .repetition: return "\(place)[]"
        case .field(let name):
            switch part {
            case .answer: return name
            case .receipt: return "\(place).\(name)"
            default: return "\(place)[].\(name)"
            }
        }
    }
}
