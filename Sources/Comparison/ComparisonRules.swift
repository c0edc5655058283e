/// The table of all rules. The first rule whose section, subject and conditions match gives a difference its name.
///
/// A difference that no rule matches is ``unexplained``.
package enum ComparisonRules {
    /// All rules, in the order in which they are tried.
    package static let all =
        ofApps + ofValues + ofRows + ofRenewals + [unexplained]

    /// Matches every difference that has no other rule.
    package static let unexplained = ComparisonRule(
        "unexplained", .unexpected, Finding.Part.allCases, [],
        "No rule knows this difference.")

    /// Returns the names in `overrides` that are not names of rules, sorted.
    package static func unknown(in overrides: [String: ComparisonContext.Override]) -> [String] {
        let names = Set(all.map(\.name))
        return overrides.keys.filter { !names.contains($0) }.sorted()
    }

    /// The first rule with each name. Rules with the same name have the same meaning in different sections.
    static let named = Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

    private static let rows: [Finding.Part] = [.snapshot, .latest]

    private static let ofApps = [
        ComparisonRule(
            "signature", .unexpected, [.answer], [.field("status")], when: [.signatureContradiction],
            source: RuleSources.answerStatus,
            "One side calls the receipt authentic, the other does not (21003)."),
        ComparisonRule(
            "bundleId", .unexpected, [.receipt] + rows, [.field("bundleId")],
            source: RuleSources.historyResponse,
            "The two sides speak of different apps."),
        ComparisonRule(
            "environment", .unexpected, [.answer, .latest, .snapshot], [.field("environment")],
            source: RuleSources.historyResponse,
            "The two sides speak of different environments."),
        ComparisonRule(
            "sandboxAppId", .expected, [.receipt], [.field("appAppleId")], when: [.zeroAgainstNothing],
            source: RuleSources.historyResponse,
            "In the sandbox an app has no number: verifyReceipt says 0, the Server API nothing."),
        ComparisonRule(
            "sandboxAppId", .expected, [.receipt], [.field("appAppleId")], when: [.sandbox, .onlyVerifyReceipt],
            source: RuleSources.historyResponse,
            "In the sandbox an app has no number: verifyReceipt says 0, the Server API nothing."),
        ComparisonRule(
            "appAppleId", .unexpected, [.receipt], [.field("appAppleId")], when: [.bothSay],
            source: RuleSources.historyResponse,
            "The two sides speak of apps with different numbers."),
        ComparisonRule(
            "requestDate", .expected, [.receipt], [.field("requestDate")],
            source: RuleSources.answer,
            "Two answers are two requests."),
        ComparisonRule(
            "latestReceiptEcho", .expected, [.answer], [.field("latestReceipt")], when: [.bothSay],
            source: RuleSources.answer,
            "Only Apple can sign a newer receipt: an answer of ours gives the submitted one back."),
        ComparisonRule(
            "recentExpiry", .expected, [.answer], [.field("status")], when: [.recentExpiry], isVolatile: true,
            "Around the end of a period the two sides learn of the renewal at different moments."),
    ]

    private static let ofValues = [
        ComparisonRule(
            "productId", .unexpected, rows, Finding.Subject.fields(.productId),
            source: RuleSources.transaction,
            "The same transaction has different products."),
        ComparisonRule(
            "wholeSeconds", .expected, rows + [.renewals, .receipt], when: [.within(999)],
            "Dates of App Receipts have whole seconds, those of other answers milliseconds."),
        ComparisonRule(
            "restoredIdentifier", .expected, rows, Finding.Subject.fields(.transactionId), when: [.matchedOtherwise],
            source: RuleSources.latest,
            "A restored purchase has an id of its own in receipts; line item, or product and second, are the same."),
        ComparisonRule(
            "originalIdAlias", .expected, rows, Finding.Subject.fields(.originalTransactionId),
            when: [.sameLineItem, .knownToServerAPI],
            "One line item has been seen under two original ids since 2025; keep both."),
        ComparisonRule(
            "originalTransactionId", .unexpected, rows, Finding.Subject.fields(.originalTransactionId),
            when: [.bothSay],
            source: RuleSources.transaction,
            "The same transaction belongs to different first purchases, and the Server API does not know both."),
        ComparisonRule(
            "originalPurchaseClock", .expected, rows, Finding.Subject.fields(.originalPurchaseDate),
            when: [.within(2_000)],
            "First purchases are dated by two clocks that are up to two seconds apart."),
        ComparisonRule(
            "sandboxOriginalPurchase", .expected, rows, Finding.Subject.fields(.originalPurchaseDate),
            when: [.sandbox, .bothSay], isInformational: true,
            "Old sandbox renewals have an original purchase date of their own each."),
        ComparisonRule(
            "ownership", .unexpected, rows, Finding.Subject.fields(.inAppOwnershipType), when: [.bothSay],
            source: RuleSources.ownership,
            "One side says bought, the other says shared by the family."),
        ComparisonRule(
            "familySharedGroup", .expected, rows,
            Finding.Subject.fields(.webOrderLineItemId, .subscriptionGroupIdentifier), when: [.familyShared, .oneSide],
            "Transactions of family members may lack line item and group on one side."),
        ComparisonRule(
            "tokenCase", .expected, rows, Finding.Subject.fields(.appAccountToken), when: [.sameButForCase],
            "Apps send the account token in either case; the Server API gives it in lower case."),
        ComparisonRule(
            "applicationUsername", .expected, rows, Finding.Subject.fields(.appAccountToken),
            when: [.oneSide, .notAUUID],
            source: RuleSources.token,
            "An application user name that is no UUID becomes no account token."),
        ComparisonRule(
            "cancellationReason", .unexpected, rows, Finding.Subject.fields(.revocationReason), when: [.bothSay],
            source: RuleSources.latest,
            "Both sides know the refund, and give different reasons."),
        ComparisonRule(
            "revocationDrift", .expected, rows, Finding.Subject.fields(.revocationDate), when: [.bothSay],
            "The date of one refund has been seen to change between calls; what counts is that there is one."),
        ComparisonRule(
            "refundedConsumable", .expected, rows, Finding.Subject.fields(.revocationDate, .revocationReason),
            when: [.onlyServerAPI, .consumable],
            source: RuleSources.latest,
            "verifyReceipt never tells the refund of a consumable."),
        ComparisonRule(
            "upgradedWithoutRevocation", .expected, rows,
            Finding.Subject.fields(.revocationDate, .revocationReason, .isUpgraded), when: [.cancelledUpgrade],
            source: RuleSources.transaction,
            "verifyReceipt tells an upgrade as a cancellation, too; the Server API only as an upgrade."),
        ComparisonRule(
            "sandboxUpgrade", .expected, rows, Finding.Subject.fields(.isUpgraded), when: [.sandbox, .oneSide],
            isInformational: true,
            "In the sandbox upgrades are not told as in production."),
        ComparisonRule(
            "inAppSnapshot", .expected, [.snapshot],
            when: [.againstRecords, .inLatest],
            source: RuleSources.answer,
            "in_app is as old as the receipt; latest_receipt_info has the same transaction as it is now."),
        ComparisonRule(
            "inAppSnapshot", .expected, [.snapshot], Finding.Subject.fields(.expiresDate),
            when: [.againstRecords, .bothSay, .flat, .olderThanListed],
            source: RuleSources.answer,
            "The receipt keeps the end that its period once had; only the newest period is given as it is now."),
        ComparisonRule(
            "inAppSnapshot", .expected, [.snapshot], Finding.Subject.fields(.expiresDate),
            when: [.againstRecords, .bothSay, .excludingOld, .olderThanListed],
            source: RuleSources.answer,
            "The receipt keeps the end that its period once had; only the newest period is given as it is now."),
        ComparisonRule(
            "itemIdOfOtherProduct", .expected, [.latest], [.field("productAppleId")],
            when: [.flat, .onlyVerifyReceipt, .otherProduct],
            source: RuleSources.answer,
            "item_id stands in receipts alone; of a product that was changed to the Server API tells none."),
        ComparisonRule(
            "cancellation", .unexpected, rows, Finding.Subject.fields(.revocationDate, .revocationReason),
            when: [.oneSide],
            source: RuleSources.latest,
            "One side knows a refund that the other does not."),
        ComparisonRule(
            "expiresDate", .unexpected, rows, Finding.Subject.fields(.expiresDate),
            source: RuleSources.latest,
            "The same period ends at different times."),
        ComparisonRule(
            "offerCodeName", .expected, rows + [.renewals], Finding.Subject.fields(.offerCodeRefName),
            when: [.bothSay],
            source: RuleSources.transaction,
            "verifyReceipt gives the offer's reference name, the Server API perhaps its identifier."),
        ComparisonRule(
            "introductoryUndecided", .expected, rows, Finding.Subject.fields(.isTrialPeriod, .isInIntroOfferPeriod),
            when: [.undecidedIntroduction],
            source: RuleSources.discount,
            "Older payloads say an introductory offer without saying whether it was free."),
        ComparisonRule(
            "inAppSnapshot", .expected, [.snapshot], when: [.againstRecords, .onlyServerAPI],
            source: RuleSources.answer,
            "in_app has only what receipts had when it was made."),
    ]

    private static let ofRows = [
        ComparisonRule(
            "order", .expected, rows + [.renewals], [.order],
            source: RuleSources.history,
            "A history is in the order of changes; verifyReceipt promises no order."),
        ComparisonRule(
            "duplicates", .expected, rows, [.repetition],
            source: RuleSources.history,
            "A changed transaction comes again in later pages; the last one counts."),
        ComparisonRule(
            "finishedConsumables", .expected, rows, [.row], when: [.onlyServerAPI, .consumable],
            source: RuleSources.history,
            "Receipts keep a consumable until it is finished, the history for ever."),
        ComparisonRule(
            "unfinishedConsumable", .unexpected, [.latest], [.row], when: [.onlyVerifyReceipt, .consumable],
            source: RuleSources.latest,
            "verifyReceipt lists a consumable until the app has finished it; the history does not say when that is."),
        ComparisonRule(
            "refundedPurchase", .expected, rows, [.row], when: [.onlyServerAPI, .revokedInHistory, .notAutoRenewable],
            "Refunded purchases may vanish from receipts."),
        ComparisonRule(
            "flatAnswer", .expected, rows + [.renewals], [.row], when: [.flat, .onlyServerAPI, .noNewerThanListed],
            "An answer to an iOS 6 receipt tells of one purchase and the newest of its subscription."),
        ComparisonRule(
            "excludedOld", .expected, rows, [.row], when: [.excludingOld, .onlyServerAPI, .noNewerThanListed],
            source: RuleSources.request,
            "exclude-old-transactions leaves the newest of each subscription."),
        ComparisonRule(
            "capOf100", .expected, rows, [.row], when: [.onlyServerAPI, .beyondCap],
            source: RuleSources.latest,
            "latest_receipt_info ends at the newest 100."),
        ComparisonRule(
            "emptyLatestReceiptInfo", .expected, rows + [.renewals], [.row], when: [.onlyServerAPI, .emptyList],
            "Some answers have an empty latest_receipt_info beside a filled in_app; asked without a password, for one."),
        ComparisonRule(
            "inAppSnapshot", .expected, rows + [.renewals], [.row],
            when: [.againstRecords, .onlyServerAPI, .noList],
            source: RuleSources.answer,
            "Without latest_receipt_info there is only in_app, which is as old as the receipt."),
        ComparisonRule(
            "historyV1", .expected, rows, [.row], when: [.onlyVerifyReceipt, .historyV1],
            source: RuleSources.history,
            "The first version of the history has no finished consumables."),
        ComparisonRule(
            "recentPurchase", .expected, rows, [.row], when: [.recentPurchase], isVolatile: true,
            "A purchase takes some minutes to reach everybody who is asked for it."),
        ComparisonRule(
            "sandboxCleared", .expected, rows + [.renewals], [.row],
            when: [.sandbox, .onlyVerifyReceipt, .nothingInCommon], isInformational: true,
            "Clearing a tester's history empties the Server API; the old receipt still names everything."),
        ComparisonRule(
            "sandboxRepurchase", .expected, rows, [.row],
            when: [.sandbox, .onlyVerifyReceipt, .againstRecords, .notAutoRenewable], isInformational: true,
            "In the sandbox not every purchase makes a row of the history: a non-consumable bought again does not."),
        ComparisonRule(
            "sandboxPurge", .expected, rows, [.row], when: [.sandbox, .onlyServerAPI], isInformational: true,
            "The sandbox cuts long receipts short."),
        ComparisonRule(
            "missingTransaction", .unexpected, rows, [.row],
            source: RuleSources.history,
            "A transaction has no counterpart by id, line item, or product and second."),
    ]

    private static let ofRenewals = [
        ComparisonRule(
            "retryZero", .expected, [.renewals], Finding.Subject.fields(.isInBillingRetryPeriod),
            when: [.noAgainstNothing],
            "\"Not in billing retry\" is said by one side, by the other through silence."),
        ComparisonRule(
            "priceConsent", .expected, [.renewals], Finding.Subject.fields(.priceConsentStatus, .priceIncreaseStatus),
            when: [.lessThanConsent],
            source: RuleSources.priceIncrease,
            "The Server API's 1 means agreed or only told, where no consent is needed."),
        ComparisonRule(
            "recentExpiry", .expected, [.renewals, .subscriptions], when: [.recentExpiry], isVolatile: true,
            "Around the end of a period the two sides learn of the renewal at different moments."),
        ComparisonRule(
            "renewalMoved", .expected, [.renewals], when: [.takenApart], isVolatile: true,
            source: RuleSources.renewal,
            "Answers taken more than a minute apart may tell of two states of a renewal."),
        ComparisonRule(
            "autoRenewStatus", .unexpected, [.renewals], Finding.Subject.fields(.autoRenewStatus), isVolatile: true,
            source: RuleSources.renewal,
            "One side says that the subscription renews, the other that it does not."),
        ComparisonRule(
            "autoRenewProductId", .unexpected, [.renewals], Finding.Subject.fields(.autoRenewProductId),
            isVolatile: true,
            source: RuleSources.renewal,
            "The subscription renews into different products."),
        ComparisonRule(
            "entitlement", .unexpected, [.subscriptions], isVolatile: true,
            source: RuleSources.status,
            "One side gives access now, the other does not."),
    ]
}
