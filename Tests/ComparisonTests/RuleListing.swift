import ReceiptBridgeComparison

/// Documentation of the rules as a table.
enum RuleListing {
    /// Returns a Markdown table in the order in which the rules are tried.
    static func markdown(_ rules: [ComparisonRule]) -> String {
        let head = "| rule | class | path | condition | explanation | source |\n|---|---|---|---|---|---|\n"
        return head
            + rules.map { rule in
                let sections = rule.parts == ComparisonFinding.Part.allCases ? "everywhere" : rule.sections
                let notes = [
                    rule.isByDefinition ? "by definition" : nil, rule.isInformational ? "informational" : nil,
                    rule.isVolatile ? "volatile" : nil,
                    rule.verdict == .expected && rule.isNoticeable ? "may be noticed" : nil,
                ].compactMap(\.self)
                let verdict = ([rule.verdict.rawValue] + notes).joined(separator: ", ")
                let conditions = rule.conditions.map(\.displayText).joined(separator: "; ")
                let cells = [
                    "`\(rule.name)`", verdict, sections, conditions, rule.explanation,
                    rule.source.map { "[Apple](\($0))" } ?? rule.basis,
                ]
                return "| \(cells.joined(separator: " | ")) |\n"
            }.joined()
    }
}

extension ComparisonRule {
    /// Basis of a rule that has no public page.
    fileprivate var basis: String { name == ComparisonRules.unexplained.name ? "–" : Self.observed }

    fileprivate var sections: String {
        let parts = parts.map { "`\($0 == .answer ? "the response" : $0.rawValue)`" }.joined(separator: ", ")
        return subjects.isEmpty ? parts : "\(parts): \(subjects.map(\.displayText).joined(separator: ", "))"
    }
}

extension ComparisonFinding.Subject {
    fileprivate var displayText: String {
        switch self {
        case .row: "a row on one side only"
        case .repetition: "a repeated row"
        case .ends: "the first or last row"
        case .order: "the order of other rows"
        case .field(let name): "`\(name)`"
        }
    }
}

extension ComparisonCondition {
    /// The condition in words, for the table.
    fileprivate var displayText: String {
        switch self {
        case .sandbox: "in the sandbox"
        case .againstRecords: "compared with a history"
        case .flat: "iOS 6 response"
        case .bothSay: "both sides have a value"
        case .onlyVerifyReceipt: "only verifyReceipt has it"
        case .onlyServerAPI: "only the Server API has it"
        case .oneSide: "one side has no value"
        case .within(let limit): "at most \(limit) ms apart"
        case .sameButForCase: "equal except for letter case"
        case .notAUUID: "not a UUID"
        case .noAgainstNothing: "`false` against no value"
        case .zeroAgainstNothing: "0 against no value"
        case .lessThanConsent: "1 against 0 or no value"
        case .familyShared: "family shared"
        case .cancelledUpgrade: "an upgrade that verifyReceipt shows as canceled"
        case .consumable: "a consumable"
        case .notAutoRenewable: "not an auto-renewable subscription"
        case .revokedInHistory: "revoked in the history"
        case .refundedConsumable: "a consumable that was refunded"
        case .sameLineItem: "same line item"
        case .knownToServerAPI: "the Server API lists both ids for this customer"
        case .matchedOtherwise: "matched without the id"
        case .beyondCap: "no newer than the oldest row of a full list"
        case .emptyList: "empty list, but rows in `in_app`"
        case .noList: "no `latest_receipt_info`"
        case .latestWithoutSubscription: "one `latest_receipt_info`, no subscription"
        case .inLatest: "also in `latest_receipt_info`"
        case .excludingOld: "requested with `exclude-old-transactions`"
        case .noNewerThanListed: "no newer than the newest listed period"
        case .olderThanListed: "older than the newest listed period"
        case .otherProduct: "the product is not in the receipt"
        case .historyV1: "history of version 1"
        case .recentPurchase: "purchased within 10 minutes"
        case .recentExpiry: "expires within 10 minutes"
        case .nothingInCommon: "no transaction in common"
        case .takenApart: "responses more than a minute apart"
        case .undecidedIntroduction: "an introductory offer without `offerDiscountType`"
        case .trialOfUnknownDays: "a free introductory offer bought from 2024-08-18 to 2024-09-02"
        case .offerCodeUUID: "a random UUID, in `in_app` or next to `offer_code_ref_name`"
        case .signatureContradiction: "21003 on one side"
        }
    }
}
