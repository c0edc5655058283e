import ReceiptBridgeAppStore
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeAdministration
import ReceiptBridgeStorage

/// The `consumption` command: sends the information that Apple requests before it decides about a refund.
struct ConsumptionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "consumption",
        abstract: "Sends the consumption information that Apple requests for refund decisions, and lists the requests.",
        subcommands: [Send.self, ConsumptionListCommand.self])

    struct Send: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "send",
            abstract: "Tells Apple how far a purchase was delivered and used, if the customer consented.",
            discussion: """
                Nothing is sent without the customer's consent. Apple waits 12 hours after its CONSUMPTION_REQUEST; if the \
                store contains that notification, nothing is sent after the deadline without --late.

                --v1 uses version 1 of the endpoint, for Advanced Commerce: its fields are numbers, 0 means undeclared.

                Exit codes: 0 sent; 1 rejected by Apple; 2 usage, or rejected here and nothing sent; 3 stopped by a rate \
                limit or a temporary failure.

                Example:
                  receipt-bridge consumption send 730000000000001 \\
                      --customer-consented --delivery-status DELIVERED
                """)

        @OptionGroup var options: OperationOptions
        @Argument(help: ArgumentHelp("The transaction in Apple's request.", valueName: "transaction-id"))
        var transactionId: String
        @Flag(help: "The customer consented to sharing this information with Apple.")
        var customerConsented = false
        @Flag(help: "The customer could try the content before buying.")
        var sampleContentProvided = false
        @Option(
            help: ArgumentHelp(
                """
                DELIVERED, UNDELIVERED_QUALITY_ISSUE, UNDELIVERED_WRONG_ITEM, UNDELIVERED_SERVER_OUTAGE, \
                UNDELIVERED_OTHER; with --v1 0 delivered, 1 quality, 2 wrong item, 3 outage, 4 game currency, 5 other.
                """, valueName: "status"))
        var deliveryStatus: String?
        @Option(
            help: ArgumentHelp(
                "Consumed share in thousandths of a percent: 40000 is 40 %. Not for subscriptions; not with --v1.",
                valueName: "thousandths"))
        var consumptionPercentage: Int64?
        @Option(
            help: ArgumentHelp(
                "DECLINE, GRANT_FULL, GRANT_PRORATED; with --v1 1 grant, 2 decline, 3 none.", valueName: "preference"))
        var refundPreference: String?
        @Flag(help: "Send even if more than 12 hours have passed since Apple's request.")
        var late = false
        @Flag(help: "Print the request without sending it.")
        var dryRun = false

        @Flag(help: "Use version 1 of the endpoint.")
        var v1 = false
        @Option(help: ArgumentHelp("With --v1: the app's UUID for the customer.", valueName: "uuid"))
        var appAccountToken: String?
        @Option(help: ArgumentHelp("With --v1: 1 not consumed, 2 partly, 3 fully.", valueName: "number"))
        var consumptionStatus: Int64?
        @Option(help: ArgumentHelp("With --v1: the platform, 1 Apple, 2 other.", valueName: "number"))
        var platform: Int64?
        @Option(
            help: ArgumentHelp(
                "With --v1: age of the account, 1 to 7: up to 3, 10, 30, 90, 180, 365 days, more.", valueName: "number")
        )
        var accountTenure: Int64?
        @Option(
            help: ArgumentHelp(
                "With --v1: time of use, 1 to 7: up to 5 minutes, 1, 6, 24 hours, 4, 16 days, more.",
                valueName: "number"))
        var playTime: Int64?
        @Option(
            help: ArgumentHelp(
                "With --v1: total refunds, 1 to 7: none, up to 49.99, 99.99, 499.99, 999.99, 1999.99 US dollars, more.",
                valueName: "number"))
        var lifetimeDollarsRefunded: Int64?
        @Option(
            help: ArgumentHelp(
                "With --v1: total purchases, 1 to 7 as for --lifetime-dollars-refunded.", valueName: "number"))
        var lifetimeDollarsPurchased: Int64?
        @Option(
            help: ArgumentHelp(
                "With --v1: the account, 1 active, 2 suspended, 3 terminated, 4 limited.", valueName: "number"))
        var userStatus: Int64?

        /// The numeric options that were given, by their fields in Apple's request.
        private var numbers: [ConsumptionRequestV1.Field: Int64] {
            let given: [(ConsumptionRequestV1.Field, Int64?)] = [
                (.consumptionStatus, consumptionStatus), (.platform, platform), (.accountTenure, accountTenure),
                (.playTime, playTime), (.lifetimeDollarsRefunded, lifetimeDollarsRefunded),
                (.lifetimeDollarsPurchased, lifetimeDollarsPurchased), (.userStatus, userStatus),
                (.deliveryStatus, deliveryStatus.flatMap { Int64($0) }),
                (.refundPreference, refundPreference.flatMap { Int64($0) }),
            ]
            return Dictionary(given.compactMap { field, value in value.map { (field, $0) } }, uniquingKeysWith: { $1 })
        }

        func validate() throws {
            if v1 {
                guard consumptionPercentage == nil else {
                    throw ValidationError("--consumption-percentage: not allowed with --v1")
                }
                for (name, text) in [("delivery-status", deliveryStatus), ("refund-preference", refundPreference)] {
                    guard text == nil || text.flatMap({ Int64($0) }) != nil else {
                        throw ValidationError("--\(name): must be a number with --v1")
                    }
                }
            } else {
                let others = numbers.keys.filter { $0 != .deliveryStatus && $0 != .refundPreference }
                guard others.isEmpty, appAccountToken == nil else {
                    let names = others.map(\.option).sorted() + (appAccountToken == nil ? [] : ["--app-account-token"])
                    throw ValidationError("\(names.joined(separator: ", ")): only allowed with --v1")
                }
            }
        }

        func run() async throws {
            try await options.run { context in
                let id = try TransactionIdentifier(argument: transactionId)
                let app = try await context.app(of: .transaction(id))
                let sender = ConsumptionSender(client: app.client, scope: app.scope, store: context.store)
                switch try await sender.send(information, of: id, CommandContext.options) {
                case .sent: Terminal.line(ConsumptionAnswer.sent(id))
                case .preview(let request, let isTypeUnknown):
                    if isTypeUnknown {
                        Terminal.say(
                            "the type of the product is unknown: the options that depend on it were not checked")
                    }
                    Terminal.line(DryRun.line(request))
                }
            }
        }

        private var information: ConsumptionInformation {
            let form: ConsumptionInformation.Form =
                v1
                ? .version1(
                    ConsumptionRequestV1(
                        appAccountToken: appAccountToken ?? "", sampleContentProvided: sampleContentProvided,
                        numbers: numbers))
                : .current(
                    ConsumptionInput(
                        sampleContentProvided: sampleContentProvided, deliveryStatus: deliveryStatus,
                        percentage: consumptionPercentage, refundPreference: refundPreference))
            return ConsumptionInformation(
                customerConsented: customerConsented, form: form, isLate: late, isDryRun: dryRun)
        }
    }
}

/// The `consumption list` command: lists Apple's requests for consumption information.
struct ConsumptionListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Prints one line of JSON per request of Apple's, with its deadline and Apple's decision.",
        discussion: """
            Only reads the store. A server may be running; it stores Apple's decision when a notification reports it, or finds \
            out 48 hours after a request whether the purchase was refunded.

            Example:
              receipt-bridge consumption list --open --config receipt-bridge.yaml
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @OptionGroup var output: JSONOption
    @Flag(help: "Only requests that Apple still waits for: not answered, not decided, not older than 12 hours.")
    var open = false
    @Option(
        help: ArgumentHelp(
            "Only requests received since this instant, for example 2026-11-21 or 2026-11-21T12:00:00Z.",
            valueName: "instant"))
    var since: Instant?

    func validate() throws {
        try since?.check("--since")
    }

    func run() async throws {
        let filter = ConsumptionCaseFilter(
            receivedSince: since?.timestamp ?? Timestamp(milliseconds: 0), isUnsettled: open)
        try await configuration.withStore { store throws(StorageError) in
            try await StoredList.print(\.id) { (last, limit) throws(StorageError) in
                try await store.consumption.consumptionCases(filter, after: last, limit: limit)
            } line: {
                !open || $0.isOpen(at: .now) ? ConsumptionCaseLine.json($0) : nil
            }
        }
    }
}
