package import ReceiptBridgeReceipts
package import ReceiptBridgeBase

/// A comparison of two sides, which names every difference. Computed in the initializer, without clock or I/O.
///
/// Data that a form of response never contains (prices in verifyReceipt, account tokens in `in_app`) is no
/// difference. Everything else that differs is reported with the first matching rule of ``ComparisonRules``, or as
/// `unexplained` if no rule matches.
package struct Comparison {
    /// The differences, in the order of the documents.
    package private(set) var differences: [Difference] = []

    let left: ComparedAnswer
    let right: ComparedAnswer
    let context: ComparisonContext
    /// Facts for conditions. Updated after the rows have been matched.
    var facts: ComparisonFacts

    /// - Parameters:
    ///   - serverAPI: Records of the App Store Server API, or a verifyReceipt response rendered from them.
    ///   - context: Facts that the sides do not contain. For example, the time and the overrides of the app's owner.
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

    /// `true` if everything in the verifyReceipt response had a counterpart to compare with. Some App Store Server
    /// API responses may not have been recorded.
    package var isWhole: Bool {
        guard left.isVerdict, right.form == .records else { return true }
        let hasRows = !left.snapshot.isEmpty || left.latest?.isEmpty == false
        return (right.latest != nil || !hasRows) && (right.renewals != nil || left.renewals?.isEmpty != false)
    }

    /// Stores the difference, unless an override ignores the rule or it is expected by definition.
    mutating func report(_ finding: ComparisonFinding) {
        let rule = ComparisonRules.all.first { $0.matches(finding, facts) } ?? ComparisonRules.unexplained
        let verdict: ComparisonRule.Class
        switch context.overrides[rule.name] {
        case .ignore?: return
        case .expected?: verdict = .expected
        case .unexpected?: verdict = .unexpected
        case nil: verdict = rule.verdict
        }
        guard verdict == .unexpected || !rule.isByDefinition else { return }
        let values = ComparedValue.truncated(finding.verifyReceipt, finding.serverAPI)
        differences.append(
            Difference(
                receipt: context.receipt, path: finding.path, identifier: finding.identifier, verdict: verdict,
                rule: rule.name, isInformational: rule.isInformational, isVolatile: rule.isVolatile,
                verifyReceipt: values.0, serverAPI: values.1, setting: finding.setting))
    }

    mutating func compare(
        _ part: ComparisonFinding.Part, _ name: String, _ left: ComparedValue?, _ right: ComparedValue?,
        rows: (left: ComparedRow?, right: ComparedRow?) = (nil, nil), expiresDate: Timestamp? = nil
    ) {
        guard left != right else { return }
        report(
            ComparisonFinding(
                part: part, subject: .field(name), verifyReceipt: left, serverAPI: right, left: rows.left,
                right: rows.right, expiresDate: expiresDate ?? rows.left?.expiresDate ?? rows.right?.expiresDate))
    }
}

extension ComparedAnswer {
    /// `true` if the status comes with purchases: 0 and 21006 do, all others do not. A response without a status was
    /// recorded without it and counts as 0.
    var isVerdict: Bool {
        status.map {
            $0 == Int64(VerifyReceiptStatus.valid.rawValue)
                || $0 == Int64(VerifyReceiptStatus.subscriptionExpired.rawValue)
        } ?? true
    }
}

extension ComparisonFinding {
    /// Path of the difference without row ids. For example, `latestTransactions[].expiresDate`.
    fileprivate var path: String {
        let section =
            switch part {
            case .answer: ""
            case .receipt: "receipt"
            case .snapshot, .latest, .renewals, .subscriptions: part.rawValue
            }
        switch subject {
        case .ends, .order: return section
        case .row, .repetition: return "\(section)[]"
        case .field(let name):
            switch part {
            case .answer: return name
            case .receipt: return "\(section).\(name)"
            default: return "\(section)[].\(name)"
            }
        }
    }
}

/// Facts about a comparison that its two sides do not contain.
package struct ComparisonContext: Sendable {
    /// Identifies the receipt in differences: a digest or an id.
    package var receipt: String
    /// Time of the responses; if `nil`, the `request_date` of the verifyReceipt response is used.
    package var now: Timestamp?
    /// Milliseconds between the two responses.
    package var timeDifference: Int64 = 0
    /// Result of the local signature check; `nil` if there was none.
    package var isAuthentic: Bool?
    /// `true` if the verifyReceipt request had `exclude-old-transactions`.
    package var excludesOldTransactions = false
    /// The consumables in the records that the second side was rendered from. Needed because a verifyReceipt response
    /// does not state product types.
    package var consumables = ConsumableIdentifiers()
    /// Overrides by rule name. Names of unknown rules have no effect, see ``ComparisonRules/unknown(in:)``.
    package var overrides: [String: RuleOverride] = [:]

    package init(receipt: String, now: Timestamp? = nil) {
        self.receipt = receipt
        self.now = now
    }
}
