package import ReceiptBridgeBase
import ReceiptBridgeResponses

/// The table of all rules. The first rule whose section, subject and conditions match gives a difference its name.
///
/// A difference that no rule matches is ``unexplained``.
package enum ComparisonRules {
    /// All rules, in the order in which they are tried.
    package static let all = ofApps + ofNewestFields + ofValues + ofRows + ofRenewals + [unexplained]

    /// Matches every difference that has no other rule.
    package static let unexplained = ComparisonRule(
        "unexplained", .unexpected, ComparisonFinding.Part.allCases, [],
        "No rule explains this difference.")

    /// Returns the names in `overrides` that are not names of rules, sorted.
    package static func unknown(in overrides: [String: RuleOverride]) -> [String] {
        let names = Set(all.map(\.name))
        return overrides.keys.filter { !names.contains($0) }.sorted()
    }

    /// The first rule with each name. Rules with the same name have the same meaning in different sections.
    package static let named = Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

    /// The names of rules whose differences are expected in every comparison and not counted.
    package static let byDefinition = Set(all.filter(\.isByDefinition).map(\.name))

    private static let explanationOfLatest =
        "Since about 2021-11, latest_receipt_info has rows without a subscription too; ours if the app has a secret."
    private static let explanationOfFlatRefund =
        "Some responses to iOS 6 receipts show a refund only by its dates in the rows, without a reason."

    /// The two sections that contain transactions.
    private static let rows: [ComparisonFinding.Part] = [.snapshot, .latest]

    /// Rules for the status, the app and the receipt.
    private static let ofApps: [ComparisonRule] = [
        .init(
            "signature", .unexpected, [.answer], [.field("status")], when: [.signatureContradiction],
            source: .answerStatus, "One side accepts the receipt as authentic, the other rejects it (21003)."),
        .init(
            "bundleId", .unexpected, [.receipt] + rows, [.field("bundleId")], source: .historyResponse,
            "The two sides are for different apps."),
        .init(
            "environment", .unexpected, [.answer, .latest, .snapshot], [.field("environment")],
            source: .historyResponse, "The two sides are for different environments."),
        .init(
            "sandboxAppId", .expected, [.receipt], [.field("appAppleId")], when: [.zeroAgainstNothing],
            source: .historyResponse,
            "In the sandbox, apps have no numeric id: verifyReceipt returns 0, the Server API omits it."),
        .init(
            "sandboxAppId", .expected, [.receipt], [.field("appAppleId")], when: [.sandbox, .onlyVerifyReceipt],
            source: .historyResponse,
            "In the sandbox, apps have no numeric id: verifyReceipt returns 0, the Server API omits it."),
        .init(
            "appAppleId", .unexpected, [.receipt], [.field("appAppleId")], when: [.bothSay], source: .historyResponse,
            "The two sides are for apps with different numeric ids."),
        .init(
            "requestDate", .expected, [.receipt], [.field("requestDate")], is: [.byDefinition, .unnoticeable],
            source: .answer, "The two responses belong to two requests, each with its own date."),
        .init(
            "latestReceiptEcho", .expected, [.answer], [.field("latestReceipt")], when: [.bothSay],
            is: [.byDefinition], source: .answer,
            "Only Apple can sign a newer receipt, so our response returns the submitted one."),
        .init(
            "latestReceiptEcho", .expected, [.answer], [.field("latestExpiredReceipt")], when: [.onlyVerifyReceipt],
            is: [.byDefinition],
            "Only Apple can sign the receipt of an expired subscription, which some documents have."),
        .init(
            "latestWithoutSubscription", .unexpected, [.answer, .latest], [.field("latestReceipt"), .row],
            when: [.latestWithoutSubscription, .onlyVerifyReceipt], explanationOfLatest),
        .init(
            "latestWithoutSubscription", .expected, [.answer, .latest], [.field("latestReceipt"), .row],
            when: [.latestWithoutSubscription, .onlyServerAPI], explanationOfLatest),
        .init(
            "flatRefund", .expected, [.answer],
            [AnswerField.revocationDateFormatted, .revocationReason].map { .field($0.rawValue) },
            when: [.flat, .onlyServerAPI], explanationOfFlatRefund),
        .init(
            "recentExpiry", .expected, [.answer], [.field("status")], when: [.recentExpiry],
            is: [.volatile, .unnoticeable],
            "Close to the end of a period, one side may know of the renewal before the other."),
    ]

    /// Rules for the fields that are newer than verifyReceipt.
    private static let ofNewestFields: [ComparisonRule] = [
        .init(
            "billingPlan", .expected, rows + [.renewals],
            [
                "billingPlanType", "commitmentInfo.commitmentExpiresDate", "renewalBillingPlanType",
                "commitmentInfo.commitmentRenewalDate",
            ].map(ComparisonFinding.Subject.field),
            when: [.againstRecords, .onlyServerAPI], is: [.informational, .unnoticeable], source: .transaction,
            "verifyReceipt has no billing plans: a commitment that is paid by month looks like a monthly subscription."),
        .init(
            "migratedSubscription", .expected, rows, [.field("previousOriginalTransactionId")],
            when: [.againstRecords, .onlyServerAPI], is: [.informational, .unnoticeable], source: .transaction,
            "verifyReceipt does not connect a subscription with the one that it was migrated from."),
        .init(
            "advancedCommerce", .expected, rows + [.renewals], [.field("advancedCommerceInfo")],
            when: [.againstRecords, .onlyServerAPI], is: [.informational, .unnoticeable], source: .transaction,
            "verifyReceipt has no details of purchases that the Advanced Commerce API made."),
    ]

    /// Rules for the fields of matched transactions.
    private static let ofValues: [ComparisonRule] = [
        .init(
            "productId", .unexpected, rows, .fields(.productId), source: .transaction,
            "The same transaction has different product ids."),
        .init(
            "wholeSeconds", .expected, rows + [.renewals, .receipt], when: [.within(999)],
            "Dates in App Receipts have whole seconds, dates in other responses milliseconds."),
        .init(
            "restoredIdentifier", .expected, rows, .fields(.transactionId), when: [.matchedOtherwise], source: .latest,
            "A restored purchase has its own id in receipts; line item, or product and second, are the same."),
        .init(
            "originalIdAlias", .expected, rows, .fields(.originalTransactionId),
            when: [.sameLineItem, .knownToServerAPI],
            "Since 2025, one line item has been observed with two original transaction ids; store both."),
        .init(
            "originalTransactionId", .unexpected, rows, .fields(.originalTransactionId), when: [.bothSay],
            source: .transaction,
            "The same transaction has different original ids, and the Server API does not list both."),
        .init(
            "originalPurchaseClock", .expected, rows, .fields(.originalPurchaseDate), when: [.within(2_000)],
            "Original purchase dates come from two clocks that differ by up to two seconds."),
        .init(
            "sandboxOriginalPurchase", .expected, rows, .fields(.originalPurchaseDate), when: [.sandbox, .bothSay],
            is: [.informational],
            "Each sandbox renewal of 2015 to 2020 has its own original purchase date; later years not known."),
        .init(
            "ownership", .unexpected, rows, .fields(.inAppOwnershipType), when: [.bothSay], source: .ownership,
            "The purchase is family shared on one side and not on the other; both state it since about 2021."),
        .init(
            "familySharedGroup", .expected, rows, .fields(.webOrderLineItemId, .subscriptionGroupIdentifier),
            when: [.familyShared, .oneSide],
            "Family-shared transactions may lack line item and subscription group on one side."),
        .init(
            "tokenCase", .expected, rows, .fields(.appAccountToken), when: [.sameButForCase],
            "Apps send the account token in upper or lower case; the Server API returns lower case."),
        .init(
            "applicationUsername", .expected, rows, .fields(.appAccountToken), when: [.oneSide, .notAUUID],
            source: .token, "An applicationUsername that is not a UUID does not become an account token."),
        .init(
            "cancellationReason", .unexpected, rows, .fields(.revocationReason), when: [.bothSay], source: .latest,
            "Both sides have the refund, with different reasons."),
        .init(
            "flatRefund", .expected, rows, .fields(.revocationReason), when: [.flat, .onlyServerAPI],
            explanationOfFlatRefund),
        .init(
            "revocationDrift", .expected, rows, .fields(.revocationDate), when: [.bothSay],
            "The date of a refund has been observed to change between calls; only its presence matters."),
        .init(
            "refundedConsumable", .expected, rows, .fields(.revocationDate, .revocationReason),
            when: [.onlyServerAPI, .consumable], source: .latest,
            "verifyReceipt never shows the refund of a consumable."),
        .init(
            "upgradedWithoutRevocation", .expected, rows, .fields(.revocationDate, .revocationReason, .isUpgraded),
            when: [.cancelledUpgrade], source: .transaction,
            "Until 2020-07 verifyReceipt showed an upgrade as a cancellation too; responses since 2020-11 do not."),
        .init(
            "sandboxUpgrade", .expected, rows, .fields(.isUpgraded), when: [.sandbox, .oneSide], is: [.informational],
            "The sandbox reports upgrades differently from production; years not known."),
        .init(
            "offerCodeUUID", .expected, rows, .fields(.promotionalOfferId), when: [.onlyVerifyReceipt, .offerCodeUUID],
            "Receipts and verifyReceipt (2023) identify a redeemed offer code by a UUID that the Server API lacks."),
        .init(
            "trialFlagChange", .expected, rows, .fields(.isInIntroOfferPeriod), when: [.bothSay, .trialOfUnknownDays],
            "Trials bought up to 2024-08-17 lack this flag, those since 2024-09-03 have it; unknown between the two."),
        .init(
            "inAppSnapshot", .expected, [.snapshot], when: [.againstRecords, .inLatest], is: [.unnoticeable],
            source: .answer,
            "in_app is as old as the receipt; latest_receipt_info has the current state of the same transaction."),
        .init(
            "inAppSnapshot", .expected, [.snapshot], .fields(.expiresDate),
            when: [.againstRecords, .bothSay, .flat, .olderThanListed], is: [.unnoticeable], source: .answer,
            "The receipt has the end of a period as it was at that time; only the newest period is current."),
        .init(
            "inAppSnapshot", .expected, [.snapshot], .fields(.expiresDate),
            when: [.againstRecords, .bothSay, .excludingOld, .olderThanListed], is: [.unnoticeable], source: .answer,
            "The receipt has the end of a period as it was at that time; only the newest period is current."),
        .init(
            "itemIdOfOtherProduct", .expected, [.latest], [.field("productAppleId")],
            when: [.flat, .onlyVerifyReceipt, .otherProduct], source: .answer,
            "item_id exists only in receipts; the Server API has none for a product that was changed to."),
        .init(
            "cancellation", .unexpected, rows, .fields(.revocationDate, .revocationReason), when: [.oneSide],
            source: .latest, "One side has a refund that the other does not."),
        .init(
            "expiresDate", .unexpected, rows, .fields(.expiresDate), source: .latest,
            "The same period has different expiration dates."),
        .init(
            "offerCodeName", .expected, rows + [.renewals], .fields(.offerCodeRefName), when: [.bothSay],
            source: .transaction,
            "verifyReceipt returns the offer's reference name (2023), the Server API may return its identifier."),
        .init(
            "introductoryUndecided", .expected, rows, .fields(.isTrialPeriod, .isInIntroOfferPeriod),
            when: [.undecidedIntroduction], source: .discount,
            "Payloads without offerDiscountType do not state if an introductory offer was free; years not known."),
        .init(
            "inAppSnapshot", .expected, [.snapshot], when: [.againstRecords, .onlyServerAPI], is: [.unnoticeable],
            source: .answer, "in_app has only the fields that receipts had when it was made."),
    ]

    /// Rules for whole rows: order, duplicates and rows without a counterpart.
    private static let ofRows: [ComparisonRule] = [
        .init(
            "order", .unexpected, rows + [.renewals], [.ends],
            "Another row is the first or the last one, which code may take as the current purchase."),
        .init(
            "innerOrder", .expected, rows + [.renewals], [.order], source: .latest,
            "The rows between the first and the last one are in another order; Apple documents none."),
        .init(
            "duplicates", .expected, rows, [.repetition], source: .history,
            "A changed transaction is repeated on a later page; the last one is used."),
        .init(
            "finishedConsumables", .expected, rows, [.row], when: [.onlyServerAPI, .consumable], source: .history,
            "Receipts contain a consumable until it is finished, the history always."),
        .init(
            "refundedConsumable", .expected, rows, [.row], when: [.onlyVerifyReceipt, .refundedConsumable],
            source: .latest,
            "`refundedConsumables: drop` leaves out a refunded consumable, of which verifyReceipt shows no refund."),
        .init(
            "unfinishedConsumable", .unexpected, [.latest], [.row], when: [.onlyVerifyReceipt, .consumable],
            settlement: "comparisonRules: {unfinishedConsumable: expected}", source: .latest,
            "The history does not say which consumables are finished; `comparisonRules` says if that matters."),
        .init(
            "refundedPurchase", .expected, rows, [.row], when: [.onlyServerAPI, .revokedInHistory, .notAutoRenewable],
            "Refunded purchases may disappear from receipts."),
        .init(
            "flatAnswer", .expected, rows + [.renewals], [.row], when: [.flat, .onlyServerAPI, .noNewerThanListed],
            "The response to an iOS 6 receipt has one purchase and the newest one of its subscription."),
        .init(
            "excludedOld", .expected, rows, [.row], when: [.excludingOld, .onlyServerAPI, .noNewerThanListed],
            source: .request,
            "exclude-old-transactions returns the newest transaction of each subscription and each other product."),
        .init(
            "capOf100", .expected, rows, [.row], when: [.onlyServerAPI, .beyondCap], source: .latest,
            "latest_receipt_info is limited to the newest 100 transactions."),
        .init(
            "emptyLatestReceiptInfo", .expected, rows + [.renewals], [.row], when: [.onlyServerAPI, .emptyList],
            "Some responses have rows in in_app only, and an empty latest_receipt_info. Example: no password."),
        .init(
            "inAppSnapshot", .expected, rows + [.renewals], [.row], when: [.againstRecords, .onlyServerAPI, .noList],
            is: [.unnoticeable], source: .answer,
            "Without latest_receipt_info there is only in_app, which is as old as the receipt."),
        .init(
            "historyV1", .expected, rows, [.row], when: [.onlyVerifyReceipt, .historyV1], source: .history,
            "Version 1 of the history has no finished consumables."),
        .init(
            "recentPurchase", .expected, rows, [.row], when: [.recentPurchase], is: [.volatile, .unnoticeable],
            "A purchase takes some minutes to become visible in both endpoints."),
        .init(
            "sandboxCleared", .expected, rows + [.renewals], [.row],
            when: [.sandbox, .onlyVerifyReceipt, .nothingInCommon], is: [.informational],
            "Clearing a tester's history empties the Server API; the old receipt still has all purchases."),
        .init(
            "sandboxRepurchase", .expected, rows, [.row],
            when: [.sandbox, .onlyVerifyReceipt, .againstRecords, .notAutoRenewable],
            is: [.informational, .unnoticeable],
            "In the sandbox, some purchases add no row to the history. Example: a non-consumable bought again."),
        .init(
            "sandboxPurge", .expected, rows, [.row], when: [.sandbox, .onlyServerAPI], is: [.informational],
            "The sandbox truncates long receipts."),
        .init(
            "missingTransaction", .unexpected, rows, [.row], source: .history,
            "A transaction has no counterpart by id, line item, or product and second of purchase."),
    ]

    private static let ofRenewals: [ComparisonRule] = [
        .init(
            "retryZero", .expected, [.renewals], .fields(.isInBillingRetryPeriod), when: [.noAgainstNothing],
            "One side states \"not in billing retry\" (2020), the other omits the field; other years not known."),
        .init(
            "priceConsent", .expected, [.renewals], .fields(.priceConsentStatus, .priceIncreaseStatus),
            when: [.lessThanConsent], source: .priceIncrease,
            "The Server API's 1 means agreed, or only notified because no consent is needed; years not known."),
        .init(
            "recentExpiry", .expected, [.renewals, .subscriptions], when: [.recentExpiry],
            is: [.volatile, .unnoticeable],
            "Close to the end of a period, one side may know of the renewal before the other."),
        .init(
            "renewalMoved", .expected, [.renewals], when: [.takenApart], is: [.volatile, .unnoticeable],
            source: .renewal, "Responses more than a minute apart may show two states of a renewal."),
        .init(
            "autoRenewStatus", .unexpected, [.renewals], .fields(.autoRenewStatus), is: [.volatile], source: .renewal,
            "Auto-renewal is on for one side and off for the other."),
        .init(
            "autoRenewProductId", .unexpected, [.renewals], .fields(.autoRenewProductId), is: [.volatile],
            source: .renewal, "The subscription renews to different products."),
        .init(
            "entitlement", .unexpected, [.subscriptions], is: [.volatile], source: .status,
            "One side gives access now, the other does not."),
    ]
}
