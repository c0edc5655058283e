/// Documentation of the rules as a table.
package enum RuleListing {
    /// Returns a Markdown table in the order in which the rules are tried.
    package static func markdown(_ rules: [ComparisonRule]) -> String {
        let head = "| rule | class | where | when | why | source |\n|---|---|---|---|---|---|\n"
        return head
            + rules.map { rule in
                let places = rule.parts == Finding.Part.allCases ? "everywhere" : rule.places
                let notes = [rule.isInformational ? "only told" : nil, rule.isVolatile ? "volatile" : nil]
                    .compactMap(\.self)
                let verdict = ([rule.verdict.rawValue] + notes).joined(separator: ", ")
                let conditions = rule.conditions.map(\.words).joined(separator: "; ")
                let cells = [
                    "`\(rule.name)`", verdict, places, conditions, rule.explanation,
                    rule.source.map { "[Apple](\($0))" } ?? rule.basis,
                ]
                return "| \(cells.joined(separator: " | ")) |\n"
            }.joined()
    }
}

extension ComparisonRule {
    /// Basis of a rule that has no public page.
    var basis: String { name == ComparisonRules.unexplained.name ? "–" : Self.observed }

    fileprivate var places: String {
        let parts = parts.map { "`\($0 == .answer ? "the answer" : $0.rawValue)`" }.joined(separator: ", ")
        return subjects.isEmpty ? parts : "\(parts): \(subjects.map(\.words).joined(separator: ", "))"
    }
}

extension Finding.Subject {
    fileprivate var words: String {
        switch self {
        case .row: "a row on one side only"
        case .repetition: "a row twice"
        case .order: "the order"
        case .field(let name): "`\(name)`"
        }
    }
}

extension ComparisonCondition {
    /// The condition in words, for the table.
    fileprivate var words: String {
        switch self {
        case .sandbox: "in the sandbox"
        case .againstRecords: "against a history"
        case .flat: "iOS 6 answer"
        case .bothSay: "both sides say something"
        case .onlyVerifyReceipt: "only verifyReceipt says it"
        case .onlyServerAPI: "only the Server API says it"
        case .oneSide: "one side says nothing"
        case .within(let limit): "at most \(limit) ms apart"
        case .sameButForCase: "equal but for upper and lower case"
        case .notAUUID: "not a UUID"
        case .noAgainstNothing: "\"no\" against nothing"
        case .zeroAgainstNothing: "0 against nothing"
        case .lessThanConsent: "1 against less"
        case .familyShared: "shared by the family"
        case .cancelledUpgrade: "an upgrade that verifyReceipt calls cancelled"
        case .consumable: "a consumable"
        case .notAutoRenewable: "no auto-renewable"
        case .revokedInHistory: "revoked in the history"
        case .sameLineItem: "same line item"
        case .knownToServerAPI: "the Server API knows both ids of this customer"
        case .matchedOtherwise: "matched without the id"
        case .beyondCap: "no newer than the oldest of a full list"
        case .emptyList: "empty list beside a filled `in_app`"
        case .noList: "no `latest_receipt_info`"
        case .inLatest: "also in `latest_receipt_info`"
        case .excludingOld: "asked with `exclude-old-transactions`"
        case .noNewerThanListed: "no newer than the period that is given"
        case .olderThanListed: "older than the period that is given"
        case .otherProduct: "of a product that is not the receipt's"
        case .historyV1: "history of version 1"
        case .recentPurchase: "bought within ten minutes"
        case .recentExpiry: "ends within ten minutes"
        case .nothingInCommon: "no transaction in common"
        case .takenApart: "taken more than a minute apart"
        case .undecidedIntroduction: "an introduction without `offerDiscountType`"
        case .signatureContradiction: "21003 on one side"
        }
    }
}
