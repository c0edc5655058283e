import ReceiptBridgeResponses

/// The table of all rules. The first rule whose section, subject and conditions match gives a difference its name.
///
/// A difference that no rule matches is ``unexplained``.
package enum ComparisonRules {
    /// All rules, in the order in which they are tried.
    package static let all =
        ofApps + ofNewestFields + ofValues + ofRows + ofRenewals + [unexplained]

    /// Matches every difference that has no other rule.
    package static let unexplained = ComparisonRule(
        "unexplained", .unexpected, ComparisonFinding.Part.allCases, [],
        "No rule explains this difference.")

    /// Returns the names in `overrides` that are not names of rules, sorted.
    package static func unknown(in overrides: [String: ComparisonContext.Override]) -> [String] {
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
    private static let ofApps = [
        ComparisonRule(
            "signature", .unexpected, [.answer], [.field("status")], when: [.signatureContradiction],
            source: RuleSources.answerStatus,
            "One side accepts the receipt as authentic, the other rejects it (21003)."),
        ComparisonRule(
            "bundleId", .unexpected, [.receipt] + rows, [.field("bundleId")],
            source: RuleSources.historyResponse,
            "The two sides are for different apps."),
        ComparisonRule(
            "environment", .unexpected, [.answer, .latest, .snapshot], [.field("environment")],
            source: RuleSources.historyResponse,
            "The two sides are for different environments."),
        ComparisonRule(
            "sandboxAppId", .expected, [.receipt], [.field("appAppleId")], when: [.zeroAgainstNothing],
            source: RuleSources.historyResponse,
            "In the sandbox, apps have no numeric id: verifyReceipt returns 0, the Server API omits it."),
        ComparisonRule(
            "sandboxAppId", .expected, [.receipt], [.field("appAppleId")], when: [.sandbox, .onlyVerifyReceipt],
            source: RuleSources.historyResponse,
            "In the sandbox, apps have no numeric id: verifyReceipt returns 0, the Server API omits it."),
        ComparisonRule(
            "appAppleId", .unexpected, [.receipt], [.field("appAppleId")], when: [.bothSay],
            source: RuleSources.historyResponse,
            "The two sides are for apps with different numeric ids."),
        ComparisonRule(
            "requestDate", .expected, [.receipt], [.field("requestDate")], isByDefinition: true, isNoticeable: false,
            source: RuleSources.answer,
            "The two responses belong to two requests, each with its own date."),
        ComparisonRule(
            "latestReceiptEcho", .expected, [.answer], [.field("latestReceipt")], when: [.bothSay],
            isByDefinition: true, source: RuleSources.answer,
            "Only Apple can sign a newer receipt, so our response returns the submitted one."),
        ComparisonRule(
            "latestReceiptEcho", .expected, [.answer], [.field("latestExpiredReceipt")], when: [.onlyVerifyReceipt],
            isByDefinition: true,
            "Only Apple can sign the receipt of an expired subscription, which some documents have."),
        ComparisonRule(
            "latestWithoutSubscription", .unexpected, [.answer, .latest], [.field("latestReceipt"), .row],
            when: [.latestWithoutSubscription, .onlyVerifyReceipt],
            explanationOfLatest),
        ComparisonRule(
            "latestWithoutSubscription", .expected, [.answer, .latest], [.field("latestReceipt"), .row],
            when: [.latestWithoutSubscription, .onlyServerAPI],
            explanationOfLatest),
        ComparisonRule(
            "flatRefund", .expected, [.answer],
            [AnswerField.revocationDateFormatted, .revocationReason].map { .field($0.rawValue) },
            when: [.flat, .onlyServerAPI],
            explanationOfFlatRefund),
        ComparisonRule(
            "recentExpiry", .expected, [.answer], [.field("status")], when: [.recentExpiry], isVolatile: true,
            isNoticeable: false,
            "Close to the end of a period, one side may know of the renewal before the other."),
    ]

    /// Rules for the fields that are newer than verifyReceipt.
    private static let ofNewestFields = [
        ComparisonRule(
            "billingPlan", .expected, rows + [.renewals],
            [
                "billingPlanType", "commitmentInfo.commitmentExpiresDate", "renewalBillingPlanType",
                "commitmentInfo.commitmentRenewalDate",
            ].map(ComparisonFinding.Subject.field), when: [.againstRecords, .onlyServerAPI], isInformational: true,
            isNoticeable: false,
            source: RuleSources.transaction,
            "verifyReceipt has no billing plans: a commitment that is paid by month looks like a monthly subscription."),
        ComparisonRule(
            "migratedSubscription", .expected, rows, [.field("previousOriginalTransactionId")],
            when: [.againstRecords, .onlyServerAPI], isInformational: true, isNoticeable: false,
            source: RuleSources.transaction,
            "verifyReceipt does not connect a subscription with the one that it was migrated from."),
        ComparisonRule(
            "advancedCommerce", .expected, rows + [.renewals], [.field("advancedCommerceInfo")],
            when: [.againstRecords, .onlyServerAPI], isInformational: true, isNoticeable: false,
            source: RuleSources.transaction,
            "verifyReceipt has no details of purchases that the Advanced Commerce API made."),
    ]

    /// Rules for the fields of matched transactions.
    private static let ofValues = [
        ComparisonRule(
            "productId", .unexpected, rows, ComparisonFinding.Subject.fields(.productId),
            source: RuleSources.transaction,
            "The same transaction has different product ids."),
        ComparisonRule(
            "wholeSeconds", .expected, rows + [.renewals, .receipt], when: [.within(999)],
            "Dates in App Receipts have whole seconds, dates in other responses milliseconds."),
        ComparisonRule(
            "restoredIdentifier", .expected, rows, ComparisonFinding.Subject.fields(.transactionId),
            when: [.matchedOtherwise],
            source: RuleSources.latest,
            "A restored purchase has its own id in receipts; line item, or product and second, are the same."),
        ComparisonRule(
            "originalIdAlias", .expected, rows, ComparisonFinding.Subject.fields(.originalTransactionId),
            when: [.sameLineItem, .knownToServerAPI],
            "Since 2025, one line item has been observed with two original transaction ids; store both."),
        ComparisonRule(
            "originalTransactionId", .unexpected, rows, ComparisonFinding.Subject.fields(.originalTransactionId),
            when: [.bothSay],
            source: RuleSources.transaction,
            "The same transaction has different original ids, and the Server API does not list both."),
        ComparisonRule(
            "originalPurchaseClock", .expected, rows, ComparisonFinding.Subject.fields(.originalPurchaseDate),
            when: [.within(2_000)],
            "Original purchase dates come from two clocks that differ by up to two seconds."),
        ComparisonRule(
            "sandboxOriginalPurchase", .expected, rows, ComparisonFinding.Subject.fields(.originalPurchaseDate),
            when: [.sandbox, .bothSay], isInformational: true,
            "Each sandbox renewal of 2015 to 2020 has its own original purchase date; later years not known."),
        ComparisonRule(
            "ownership", .unexpected, rows, ComparisonFinding.Subject.fields(.inAppOwnershipType), when: [.bothSay],
            source: RuleSources.ownership,
            "The purchase is family shared on one side and not on the other; both state it since about 2021."),
        ComparisonRule(
            "familySharedGroup", .expected, rows,
            ComparisonFinding.Subject.fields(.webOrderLineItemId, .subscriptionGroupIdentifier),
            when: [.familyShared, .oneSide],
            "Family-shared transactions may lack line item and subscription group on one side."),
        ComparisonRule(
            "tokenCase", .expected, rows, ComparisonFinding.Subject.fields(.appAccountToken), when: [.sameButForCase],
            "Apps send the account token in upper or lower case; the Server API returns lower case."),
        ComparisonRule(
            "applicationUsername", .expected, rows, ComparisonFinding.Subject.fields(.appAccountToken),
            when: [.oneSide, .notAUUID],
            source: RuleSources.token,
            "An applicationUsername that is not a UUID does not become an account token."),
        ComparisonRule(
            "cancellationReason", .unexpected, rows, ComparisonFinding.Subject.fields(.revocationReason),
            when: [.bothSay],
            source: RuleSources.latest,
            "Both sides have the refund, with different reasons."),
        ComparisonRule(
            "flatRefund", .expected, rows, ComparisonFinding.Subject.fields(.revocationReason),
            when: [.flat, .onlyServerAPI],
            explanationOfFlatRefund),
        ComparisonRule(
            "revocationDrift", .expected, rows, ComparisonFinding.Subject.fields(.revocationDate), when: [.bothSay],
            "The date of a refund has been observed to change between calls; only its presence matters."),
        ComparisonRule(
            "refundedConsumable", .expected, rows, ComparisonFinding.Subject.fields(.revocationDate, .revocationReason),
            when: [.onlyServerAPI, .consumable],
            source: RuleSources.latest,
            "verifyReceipt never shows the refund of a consumable."),
        ComparisonRule(
            "upgradedWithoutRevocation", .expected, rows,
            ComparisonFinding.Subject.fields(.revocationDate, .revocationReason, .isUpgraded),
            when: [.cancelledUpgrade],
            source: RuleSources.transaction,
            "Until 2020-07 verifyReceipt showed an upgrade as a cancellation too; responses since 2020-11 do not."),
        ComparisonRule(
            "sandboxUpgrade", .expected, rows, ComparisonFinding.Subject.fields(.isUpgraded),
            when: [.sandbox, .oneSide],
            isInformational: true,
            "The sandbox reports upgrades differently from production; years not known."),
        ComparisonRule(
            "offerCodeUUID", .expected, rows, ComparisonFinding.Subject.fields(.promotionalOfferId),
            when: [.onlyVerifyReceipt, .offerCodeUUID],
            "Receipts and verifyReceipt (2023) identify a redeemed offer code by a UUID that the Server API lacks."),
        ComparisonRule(
            "trialFlagChange", .expected, rows, ComparisonFinding.Subject.fields(.isInIntroOfferPeriod),
            when: [.bothSay, .trialOfUnknownDays],
            "Trials bought up to 2024-08-17 lack this flag, those since 2024-09-03 have it; unknown between the two."),
        ComparisonRule(
            "inAppSnapshot", .expected, [.snapshot],
            when: [.againstRecords, .inLatest], isNoticeable: false,
            source: RuleSources.answer,
            "in_app is as old as the receipt; latest_receipt_info has the current state of the same transaction."),
        ComparisonRule(
            "inAppSnapshot", .expected, [.snapshot], ComparisonFinding.Subject.fields(.expiresDate),
            when: [.againstRecords, .bothSay, .flat, .olderThanListed], isNoticeable: false,
            source: RuleSources.answer,
            "The receipt has the end of a period as it was at that time; only the newest period is current."),
        ComparisonRule(
            "inAppSnapshot", .expected, [.snapshot], ComparisonFinding.Subject.fields(.expiresDate),
            when: [.againstRecords, .bothSay, .excludingOld, .olderThanListed], isNoticeable: false,
            source: RuleSources.answer,
            "The receipt has the end of a period as it was at that time; only the newest period is current."),
        ComparisonRule(
            "itemIdOfOtherProduct", .expected, [.latest], [.field("productAppleId")],
            when: [.flat, .onlyVerifyReceipt, .otherProduct],
            source: RuleSources.answer,
            "item_id exists only in receipts; the Server API has none for a product that was changed to."),
        ComparisonRule(
            "cancellation", .unexpected, rows, ComparisonFinding.Subject.fields(.revocationDate, .revocationReason),
            when: [.oneSide],
            source: RuleSources.latest,
            "One side has a refund that the other does not."),
        ComparisonRule(
            "expiresDate", .unexpected, rows, ComparisonFinding.Subject.fields(.expiresDate),
            source: RuleSources.latest,
            "The same period has different expiration dates."),
        ComparisonRule(
            "offerCodeName", .expected, rows + [.renewals], ComparisonFinding.Subject.fields(.offerCodeRefName),
            when: [.bothSay],
            source: RuleSources.transaction,
            "verifyReceipt returns the offer's reference name (2023), the Server API may return its identifier."),
        ComparisonRule(
            "introductoryUndecided", .expected, rows,
            ComparisonFinding.Subject.fields(.isTrialPeriod, .isInIntroOfferPeriod),
            when: [.undecidedIntroduction],
            source: RuleSources.discount,
            "Payloads without offerDiscountType do not state if an introductory offer was free; years not known."),
        ComparisonRule(
            "inAppSnapshot", .expected, [.snapshot], when: [.againstRecords, .onlyServerAPI], isNoticeable: false,
            source: RuleSources.answer,
            "in_app has only the fields that receipts had when it was made."),
    ]

    /// Rules for whole rows: order, duplicates and rows without a counterpart.
    private static let ofRows = [
        ComparisonRule(
            "order", .unexpected, rows + [.renewals], [.ends],
            "Another row is the first or the last one, which code may take as the current purchase."),
        ComparisonRule(
            "innerOrder", .expected, rows + [.renewals], [.order],
            source: RuleSources.latest,
            "The rows between the first and the last one are in another order; Apple documents none."),
        ComparisonRule(
            "duplicates", .expected, rows, [.repetition],
            source: RuleSources.history,
            "A changed transaction is repeated on a later page; the last one is used."),
        ComparisonRule(
            "finishedConsumables", .expected, rows, [.row], when: [.onlyServerAPI, .consumable],
            source: RuleSources.history,
            "Receipts contain a consumable until it is finished, the history always."),
        ComparisonRule(
            "refundedConsumable", .expected, rows, [.row], when: [.onlyVerifyReceipt, .refundedConsumable],
            source: RuleSources.latest,
            "`refundedConsumables: drop` leaves out a refunded consumable, of which verifyReceipt shows no refund."),
        ComparisonRule(
            "unfinishedConsumable", .unexpected, [.latest], [.row], when: [.onlyVerifyReceipt, .consumable],
            settlement: "comparisonRules: {unfinishedConsumable: expected}", source: RuleSources.latest,
            "The history does not say which consumables are finished; `comparisonRules` says if that matters."),
        ComparisonRule(
            "refundedPurchase", .expected, rows, [.row], when: [.onlyServerAPI, .revokedInHistory, .notAutoRenewable],
            "Refunded purchases may disappear from receipts."),
        ComparisonRule(
            "flatAnswer", .expected, rows + [.renewals], [.row], when: [.flat, .onlyServerAPI, .noNewerThanListed],
            "The response to an iOS 6 receipt has one purchase and the newest one of its subscription."),
        ComparisonRule(
            "excludedOld", .expected, rows, [.row], when: [.excludingOld, .onlyServerAPI, .noNewerThanListed],
            source: RuleSources.request,
            "exclude-old-transactions returns the newest transaction of each subscription and each other product."),
        ComparisonRule(
            "capOf100", .expected, rows, [.row], when: [.onlyServerAPI, .beyondCap],
            source: RuleSources.latest,
            "latest_receipt_info is limited to the newest 100 transactions."),
        ComparisonRule(
            "emptyLatestReceiptInfo", .expected, rows + [.renewals], [.row], when: [.onlyServerAPI, .emptyList],
            "Some responses have rows in in_app only, and an empty latest_receipt_info. Example: no password."),
        ComparisonRule(
            "inAppSnapshot", .expected, rows + [.renewals], [.row],
            when: [.againstRecords, .onlyServerAPI, .noList], isNoticeable: false,
            source: RuleSources.answer,
            "Without latest_receipt_info there is only in_app, which is as old as the receipt."),
        ComparisonRule(
            "historyV1", .expected, rows, [.row], when: [.onlyVerifyReceipt, .historyV1],
            source: RuleSources.history,
            "Version 1 of the history has no finished consumables."),
        ComparisonRule(
            "recentPurchase", .expected, rows, [.row], when: [.recentPurchase], isVolatile: true, isNoticeable: false,
            "A purchase takes some minutes to become visible in both endpoints."),
        ComparisonRule(
            "sandboxCleared", .expected, rows + [.renewals], [.row],
            when: [.sandbox, .onlyVerifyReceipt, .nothingInCommon], isInformational: true,
            "Clearing a tester's history empties the Server API; the old receipt still has all purchases."),
        ComparisonRule(
            "sandboxRepurchase", .expected, rows, [.row],
            when: [.sandbox, .onlyVerifyReceipt, .againstRecords, .notAutoRenewable], isInformational: true,
            isNoticeable: false,
            "In the sandbox, some purchases add no row to the history. Example: a non-consumable bought again."),
        ComparisonRule(
            "sandboxPurge", .expected, rows, [.row], when: [.sandbox, .onlyServerAPI], isInformational: true,
            "The sandbox truncates long receipts."),
        ComparisonRule(
            "missingTransaction", .unexpected, rows, [.row],
            source: RuleSources.history,
            "A transaction has no counterpart by id, line item, or product and second of purchase."),
    ]

    /// Rules for renewals and entitlement.
    private static let ofRenewals = [
        ComparisonRule(
            "retryZero", .expected, [.renewals], ComparisonFinding.Subject.fields(.isInBillingRetryPeriod),
            when: [.noAgainstNothing],
            "One side states \"not in billing retry\" (2020), the other omits the field; other years not known."),
        ComparisonRule(
            "priceConsent", .expected, [.renewals],
            ComparisonFinding.Subject.fields(.priceConsentStatus, .priceIncreaseStatus),
            when: [.lessThanConsent],
            source: RuleSources.priceIncrease,
            "The Server API's 1 means agreed, or only notified because no consent is needed; years not known."),
        ComparisonRule(
            "recentExpiry", .expected, [.renewals, .subscriptions], when: [.recentExpiry], isVolatile: true,
            isNoticeable: false,
            "Close to the end of a period, one side may know of the renewal before the other."),
        ComparisonRule(
            "renewalMoved", .expected, [.renewals], when: [.takenApart], isVolatile: true, isNoticeable: false,
            source: RuleSources.renewal,
            "Responses more than a minute apart may show two states of a renewal."),
        ComparisonRule(
            "autoRenewStatus", .unexpected, [.renewals], ComparisonFinding.Subject.fields(.autoRenewStatus),
            isVolatile: true,
            source: RuleSources.renewal,
            "Auto-renewal is on for one side and off for the other."),
        ComparisonRule(
            "autoRenewProductId", .unexpected, [.renewals], ComparisonFinding.Subject.fields(.autoRenewProductId),
            isVolatile: true,
            source: RuleSources.renewal,
            "The subscription renews to different products."),
        ComparisonRule(
            "entitlement", .unexpected, [.subscriptions], isVolatile: true,
            source: RuleSources.status,
            "One side gives access now, the other does not."),
    ]
}

/// URLs of Apple's documentation that rules are based on.
enum RuleSources {
    static let answer = "https://developer.apple.com/documentation/appstorereceipts/responsebody"
    static let request = "https://developer.apple.com/documentation/appstorereceipts/requestbody"
    static let answerStatus = "https://developer.apple.com/documentation/appstorereceipts/status"
    static let latest = "https://developer.apple.com/documentation/appstorereceipts/responsebody/latest_receipt_info"
    static let history = "https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history"
    static let historyResponse = "https://developer.apple.com/documentation/appstoreserverapi/historyresponse"
    static let transaction = "https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload"
    static let renewal = "https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload"
    static let ownership = "https://developer.apple.com/documentation/appstoreserverapi/inappownershiptype"
    static let token = "https://developer.apple.com/documentation/appstoreserverapi/appaccounttoken"
    static let discount = "https://developer.apple.com/documentation/appstoreserverapi/offerdiscounttype"
    static let priceIncrease = "https://developer.apple.com/documentation/appstoreserverapi/priceincreasestatus"
    static let status = "https://developer.apple.com/documentation/appstoreserverapi/status"
}
