/// The rules, as a table. The first whose place and conditions fit gives a difference its name.
///
/// What none of them fits is ``unexplained``.
package enum ComparisonRules {
    /// In the order in which they are tried.
    package static let all =
        ofApps + ofValues + ofRows + ofRenewals + [unexplained]

    /// Everything that differs and has no other name.
    package static let unexplained = ComparisonRule(
        "unexplained", .unexpected, Finding.Part.allCases, [],
        "No rule knows this difference.")

    /// Overrides that name no rule.
    package static func unknown(in overrides: [String: ComparisonContext.Override]) -> [String] {
        let names = Set(all.map(\.name))
        return overrides.keys.filter { !names.contains($0) }.sorted()
    }

    private static let rows: [Finding.Part] = [.snapshot, .latest]

    private static let ofApps = [
        ComparisonRule(
            "signature", .unexpected, [.answer], [.field("status")], when: [.signatureContradiction],
            "One side calls the receipt authentic, the other does not (21003)."),
        ComparisonRule(
            "bundleId", .unexpected, [.receipt] + rows, [.field("bundleId")],
            "The two sides speak of different apps."),
        ComparisonRule(
            "environment", .unexpected, [.answer, .latest, .snapshot], [.field("environment")],
            "The two sides speak of different environments."),
        ComparisonRule(
            "sandboxAppId", .expected, [.receipt], [.field("appAppleId")], when: [.zeroAgainstNothing],
            "In the sandbox an app has no number: verifyReceipt says 0, the Server API nothing."),
        ComparisonRule(
            "sandboxAppId", .expected, [.receipt], [.field("appAppleId")], when: [.sandbox, .onlyVerifyReceipt],
            "In the sandbox an app has no number: verifyReceipt says 0, the Server API nothing."),
        ComparisonRule(
            "appAppleId", .unexpected, [.receipt], [.field("appAppleId")], when: [.bothSay],
            "The two sides speak of apps with different numbers."),
        ComparisonRule(
            "requestDate", .expected, [.receipt], [.field("requestDate")],
            "Two answers are two requests."),
        ComparisonRule(
            "latestReceiptEcho", .expected, [.answer], [.field("latestReceipt")], when: [.bothSay],
            "Only Apple can sign a newer receipt: an answer of ours gives the submitted one back."),
        ComparisonRule(
            "recentExpiry", .expected, [.answer], [.field("status")], when: [.recentExpiry], isVolatile: true,
            "Around the end of a period the two sides learn of the renewal at different moments."),
    ]

    private static let ofValues = [
        ComparisonRule(
            "productId", .unexpected, rows, Finding.Subject.fields(.productId),
            "The same transaction has different products."),
        ComparisonRule(
            "wholeSeconds", .expected, rows + [.renewals, .receipt], when: [.within(999)],
            "Dates of App Receipts have whole seconds, those of other answers milliseconds."),
        ComparisonRule(
            "restoredIdentifier", .expected, rows, Finding.Subject.fields(.transactionId), when: [.matchedOtherwise],
            "A restored purchase has an id of its own in receipts; line item, or product and second, are the same."),
        ComparisonRule(
            "originalIdAlias", .expected, rows, Finding.Subject.fields(.originalTransactionId), when: [.sameLineItem],
            "One line item has been seen under two original ids since 2025; keep both."),
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
            "An application user name that is no UUID becomes no account token."),
        ComparisonRule(
            "cancellationReason", .unexpected, rows, Finding.Subject.fields(.revocationReason), when: [.bothSay],
            "Both sides know the refund, and give different reasons."),
        ComparisonRule(
            "revocationDrift", .expected, rows, Finding.Subject.fields(.revocationDate), when: [.bothSay],
            "The date of one refund has been seen to change between calls; what counts is that there is one."),
        ComparisonRule(
            "refundedConsumable", .expected, rows, Finding.Subject.fields(.revocationDate, .revocationReason),
            when: [.onlyServerAPI, .consumable],
            "verifyReceipt never tells the refund of a consumable."),
        ComparisonRule(
            "upgradedWithoutRevocation", .expected, rows,
            Finding.Subject.fields(.revocationDate, .revocationReason, .isUpgraded), when: [.cancelledUpgrade],
            "verifyReceipt tells an upgrade as a cancellation, too; the Server API only as an upgrade."),
        ComparisonRule(
            "sandboxUpgrade", .expected, rows, Finding.Subject.fields(.isUpgraded), when: [.sandbox, .oneSide],
            isInformational: true,
            "In the sandbox upgrades are not told as in production."),
        ComparisonRule(
            "inAppSnapshot", .expected, [.snapshot],
            when: [.againstRecords, .inLatest],
            "in_app is as old as the receipt; latest_receipt_info has the same transaction as it is now."),
        ComparisonRule(
            "cancellation", .unexpected, rows, Finding.Subject.fields(.revocationDate, .revocationReason),
            when: [.oneSide],
            "One side knows a refund that the other does not."),
        ComparisonRule(
            "expiresDate", .unexpected, rows, Finding.Subject.fields(.expiresDate),
            "The same period ends at different times."),
        ComparisonRule(
            "offerCodeName", .expected, rows + [.renewals], Finding.Subject.fields(.offerCodeRefName),
            when: [.bothSay],
            "verifyReceipt gives the offer's reference name, the Server API perhaps its identifier."),
        ComparisonRule(
            "introductoryUndecided", .expected, rows, Finding.Subject.fields(.isTrialPeriod, .isInIntroOfferPeriod),
            when: [.undecidedIntroduction],
            "Older payloads say an introductory offer without saying whether it was free."),
        ComparisonRule(
            "inAppSnapshot", .expected, [.snapshot], when: [.againstRecords, .onlyServerAPI],
            "in_app has only what receipts had when it was made."),
    ]

    private static let ofRows = [
        ComparisonRule(
            "order", .expected, rows + [.renewals], [.order],
            "A history is in the order of changes; verifyReceipt promises no order."),
        ComparisonRule(
            "duplicates", .expected, rows, [.repetition],
            "A changed transaction comes again in later pages; the last one counts."),
        ComparisonRule(
            "finishedConsumables", .expected, rows, [.row], when: [.onlyServerAPI, .consumable],
            "Receipts keep a consumable until it is finished, the history for ever."),
        ComparisonRule(
            "refundedPurchase", .expected, rows, [.row], when: [.onlyServerAPI, .revokedInHistory, .notAutoRenewable],
            "Refunded purchases may vanish from receipts."),
        ComparisonRule(
            "flatAnswer", .expected, rows + [.renewals], [.row], when: [.flat, .onlyServerAPI, .noNewerThanListed],
            "An answer to an iOS 6 receipt tells of one purchase and the newest of its subscription."),
        ComparisonRule(
            "excludedOld", .expected, rows, [.row], when: [.excludingOld, .onlyServerAPI, .noNewerThanListed],
            "exclude-old-transactions leaves the newest of each subscription."),
        ComparisonRule(
            "capOf100", .expected, rows, [.row], when: [.onlyServerAPI, .beyondCap],
            "latest_receipt_info ends at the newest 100."),
        ComparisonRule(
            "emptyLatestReceiptInfo", .expected, rows + [.renewals], [.row], when: [.onlyServerAPI, .emptyList],
            "Some answers have an empty latest_receipt_info beside a filled in_app; asked without a password, for one."),
        ComparisonRule(
            "inAppSnapshot", .expected, rows + [.renewals], [.row],
            when: [.againstRecords, .onlyServerAPI, .noList],
            "Without latest_receipt_info there is only in_app, which is as old as the receipt."),
        ComparisonRule(
            "historyV1", .expected, rows, [.row], when: [.onlyVerifyReceipt, .historyV1],
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
            "The Server API's 1 means agreed or only told, where no consent is needed."),
        ComparisonRule(
            "recentExpiry", .expected, [.renewals, .subscriptions], when: [.recentExpiry], isVolatile: true,
            "Around the end of a period the two sides learn of the renewal at different moments."),
        ComparisonRule(
            "renewalMoved", .expected, [.renewals], when: [.takenApart], isVolatile: true,
            "Answers taken more than a minute apart may tell of two states of a renewal."),
        ComparisonRule(
            "autoRenewStatus", .unexpected, [.renewals], Finding.Subject.fields(.autoRenewStatus), isVolatile: true,
            "One side says that the subscription renews, the other that it does not."),
        ComparisonRule(
            "autoRenewProductId", .unexpected, [.renewals], Finding.Subject.fields(.autoRenewProductId),
            isVolatile: true,
            "The subscription renews into different products."),
        ComparisonRule(
            "entitlement", .unexpected, [.subscriptions], isVolatile: true,
            "One side gives access now, the other does not."),
    ]
}
