import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeResponses

extension AppConfiguration: Configurable {
    package static var defaults: AppConfiguration { AppConfiguration(bundleId: nil) }

    package static var settings: [Setting<AppConfiguration>] { identity + answers + accounts + comparisons }

    private static var identity: [Setting<AppConfiguration>] {
        [
            .unreported(
                "bundleId", "text", default: "required", "the app", read: AppConfigurationReader.readBundleId),
            .integer(
                "appAppleId", \.appAppleId, in: 1 ... .max, nil, "checked in production notifications, and shown"),
            .secret("sharedSecret", default: "the account's", \.sharedSecret, "the app-specific shared secret"),
            .secrets("acceptedSecrets", \.acceptedSecrets, "previous shared secrets that old app versions still send"),
            .choice(
                "clientPassword", \.clientPassword,
                "`required`: 21004 for a request without a password if the receipt or the response has auto-renewables"),
        ]
    }

    private static var answers: [Setting<AppConfiguration>] {
        [
            .choice(
                "staleSubscription", \.staleSubscription,
                """
                a receipt whose subscription may have been renewed since: 21005 so that the client retries, or its own \
                response
                """),
            .choice(
                "unknownTransaction", \.unknownTransaction,
                """
                receipts that the Server API does not know (4040010): their own response, or 21010, unless `apple` \
                comes later and answers. A deleted account (4040001) gives 21010 only if no later source answers
                """),
            .integer(
                "cacheSeconds", \.cacheSeconds, in: 0...3600, .seconds,
                "how long records from the Server API are cached; 0 disables the cache"),
            .integer(
                "storedMaxAge", \.storedMaxAge, in: 0...2_592_000, .seconds,
                "how long stored records are used without a Server API call"),
            .custom(
                "answer", "list of `apple`, `api`, `stored`, `receipt`",
                default: "`[\(defaults.answer.map(\.rawValue).joined(separator: ", "))]`", \.answer,
                "sources of the response, each the fallback of the previous one",
                read: AppConfigurationReader.readAnswer),
            .choice(
                "signedTransactions", \.signedTransactions,
                """
                a signed transaction in `receipt-data`: [a response](COMPATIBILITY.md#signed-transactions), or 21002
                """),
            .choice(
                "latestReceiptInfoOrder", \.latestReceiptInfoOrder,
                """
                `latest_receipt_info` in responses that are rendered here: the newest row first in production and last in \
                the sandbox as in [Apple's](COMPATIBILITY.md#order-of-latest_receipt_info), always last, or always first
                """),
            .choice(
                "refundedConsumables", \.refundedConsumables,
                """
                a consumable of an App Receipt that the records of `api` or `stored` say was refunded: no row in the \
                response, or its row as in the receipt ([COMPATIBILITY](COMPATIBILITY.md#refunded-consumables))
                """),
        ]
    }

    private static var accounts: [Setting<AppConfiguration>] {
        [
            .unreported(
                "serverAPI", "the keys `issuerId`, `keyId` and `privateKey`", default: "none",
                "an In-App Purchase key of App Store Connect"
            ) { $2.serverAPI = AppConfigurationReader.account($1, of: $0, for: $2.bundleId) },
            .custom(
                "serverAPI.issuerId", "text", default: "required in `serverAPI`", \.serverAPI?.issuerId, "its issuer"),
            .custom("serverAPI.keyId", "text", default: "required in `serverAPI`", \.serverAPI?.keyId, "its id"),
            .custom(
                "serverAPI.privateKey", "secret", default: "required in `serverAPI`", \.serverAPI?.privateKey,
                "the text of its `.p8` file; the file is reloaded when it changes"),
            .custom(
                "recheck", "list of notification types", default: "none", \.recheck,
                """
                notifications after which the customer is [looked up again](NOTIFICATIONS.md#recheck), for example \
                `[REFUND, DID_RECOVER]`; needs `serverAPI`
                """, read: AppConfigurationReader.readRecheck),
            .custom(
                "sandbox", "`allow`, `deny`, `{testers: [id, …]}`", default: "`\(defaults.sandbox.rawValue)`",
                \.sandbox,
                "`deny`: 21003 for sandbox receipts; `testers`: see below. `/v1/` applies `deny` only",
                read: AppConfigurationReader.readSandbox),
            .custom(
                "sandbox.testers", "list of transaction ids and appAccountTokens", default: "none", \.testers,
                """
                21003 for all sandbox customers but those with one of these; without `serverAPI`, what is presented \
                must contain the id ([decision 20](decisions/0020-sandbox-allow-list-and-replay-detection.md))
                """),
            .choice(
                "replay", \.replay,
                """
                a purchase that another user presented before, if `userHeader` is set: counted and logged (`report`), \
                or also refused with 21003 (`refuse`). Without a `store`, the first user to present a purchase after \
                a restart counts as its owner
                """),
        ]
    }

    private static var comparisons: [Setting<AppConfiguration>] {
        [
            .custom(
                "shadow", "`none`, `apple`, `api`", default: "`none`", \.shadow,
                "a second source to query, for [comparison](COMPARISON.md)", read: AppConfigurationReader.readShadow),
            .row(
                "shadowSampling", "0 to 1", default: "1", \.shadowSampling,
                "fraction of the responses that are compared"
            ) { AppConfigurationReader.number($0, $1, upTo: 1) },
            .unreported(
                "rollout", "the keys `source`, `percent` and `stopAt`", default: "none",
                "a [gradual switch](COMPARISON.md#switching-gradually) to another source; needs `store`",
                read: AppConfigurationReader.readRollout),
            .custom(
                "rollout.source", "`api`, `stored`", default: "required in `rollout`", \.rollout?.source,
                "the source that is asked first for a share of the customers"),
            .custom(
                "rollout.percent", "0 to 100", default: "required in `rollout`", \.rollout?.percent,
                "that share. A higher value only adds customers"),
            .custom(
                "rollout.stopAt", "0 to 100", default: "required in `rollout`", \.rollout?.stopAt,
                """
                the share goes back to 0 for good when more than so many percent of at least 20 compared customers \
                have an unexpected difference
                """),
            .custom(
                "comparisonRules", "rule: `expected`, `unexpected`, `ignore`", default: "none", \.comparisonRules,
                "how a difference of that rule is classified for this app",
                read: AppConfigurationReader.readComparisonRules),
            .custom(
                "forward", "list", default: "none", \.forward,
                "targets that notifications are [forwarded](FORWARDING.md) to"
            ) { $2.forward = ConfigurationFile.forwardTargets($1, of: $0) },
        ]
    }
}
