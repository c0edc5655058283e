import ReceiptBridgeAdministration
import ReceiptBridgeAppStore
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeStorage

/// The `renewals` command: extends subscriptions by moving their renewal dates.
struct RenewalsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "renewals", abstract: "Extends subscriptions by moving their renewal dates.",
        subcommands: [Extend.self])

    struct Extend: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "extend",
            abstract: "Extends one subscription, or all subscriptions of a product, by a number of days.",
            discussion: """
                One subscription: --original-transaction-id, --days, --reason; at most twice in 365 days. \
                All active subscriptions of a product: --mass --product-id, --days, --reason; \
                that takes Apple hours, and --status --product-id --request-id shows the progress.

                Exit codes: 0 extended, accepted, or status printed; 1 Apple did not extend it; 2 usage, or rejected here and \
                nothing sent; 3 stopped by a rate limit or a temporary failure.

                Example:
                  receipt-bridge renewals extend --original-transaction-id 730000000000061 \\
                      --days 14 --reason 3 --dry-run
                """)

        @OptionGroup var options: OperationOptions
        @OptionGroup var list: ListOptions
        @Option(help: ArgumentHelp("The original transaction id of the subscription.", valueName: "transaction-id"))
        var originalTransactionId: String?
        @Flag(help: "Extend all active subscriptions of a product.")
        var mass = false
        @Flag(help: "Print the progress of an extension of all subscriptions.")
        var status = false
        @Option(help: ArgumentHelp("The product, with --mass and --status.", valueName: "product-id"))
        var productId: String?
        @Option(help: ArgumentHelp("With --mass: only these countries, for example USA,DEU.", valueName: "codes"))
        var storefronts: String?
        @Option(help: ArgumentHelp("Days to extend by, 1 to 90.", valueName: "days"))
        var days: Int?
        @Option(
            help: ArgumentHelp(
                "The reason: 0 undeclared, 1 customer satisfaction, 2 other, 3 service issue or outage.",
                valueName: "number"))
        var reason: Int64?
        @Option(
            help: ArgumentHelp(
                "Identifies the request; the same id repeats the same request (default: a new UUID).", valueName: "uuid"
            ))
        var requestId: String?
        @Flag(help: "With --mass: confirm the extension without being asked on the terminal.")
        var yes = false
        @Flag(help: "Print the request without sending it.")
        var dryRun = false

        func validate() throws {
            guard [originalTransactionId != nil, list.ids != nil, mass, status].filter({ $0 }).count == 1 else {
                throw ValidationError("specify one of --original-transaction-id, --ids, --mass and --status")
            }
            guard list.ids == nil || requestId == nil else { throw ValidationError("--request-id: not with --ids") }
            guard mass || !yes else { throw ValidationError("--yes needs --mass") }
            guard mass || storefronts == nil else { throw ValidationError("--storefronts needs --mass") }
            guard (mass || status) == (productId != nil) else {
                throw ValidationError("--mass and --status need --product-id, and it cannot be used without them")
            }
            guard !status || requestId != nil else { throw ValidationError("--status needs --request-id") }
            guard !status || (days == nil && reason == nil && !dryRun) else {
                throw ValidationError("--status cannot be combined with --days, --reason or --dry-run")
            }
            guard status || (days != nil && reason != nil) else {
                throw ValidationError("--days and --reason are needed")
            }
        }

        func run() async throws {
            // Apple's rate limit of extending one subscription.
            try await options.run(list, requestsPerSecond: 20) { context in
                if try await extendListed(context) { return }
                if status {
                    try await printStatus(context)
                } else if mass {
                    try await extendAll(context)
                } else {
                    try await extendOne(context)
                }
            }
        }

        /// Extends the subscriptions of a file. Returns whether there is one.
        private func extendListed(_ context: CommandContext) async throws -> Bool {
            guard list.ids != nil else { return false }
            let terms = try ExtensionInput(days: days ?? 0, reason: reason ?? -1)
            let extender = SubscriptionExtender(
                terms, store: context.store, client: { [clients = context.clients] in clients.client(for: $0) })
            let scope = "\(context.bundleId ?? "") \(context.environment.rawValue)"
            return try await list.run(
                options: "extend \(scope) \(terms.days) \(terms.reason.rawValue)", startsOver: false
            ) { bytes in
                let list = try await context.resolver.list(bytes, named: context.bundleId, in: context.environment)
                guard dryRun else { return list.entries }
                for entry in list.entries {
                    Terminal.line(
                        try await extender.result(of: entry, run: "dry", isDryRun: true, CommandContext.options).line)
                }
                return nil
            } _: { run, entry, options in
                try await extender.result(of: entry, run: run, options)
            }
        }

        /// Prints the progress of an extension of all subscriptions.
        private func printStatus(_ context: CommandContext) async throws {
            let request = try RequestIdentifier(uuid: requestId ?? "")
            let product = productId ?? ""
            let app = try await context.app()
            let status = try await app.client.extensionStatus(
                productId: product, requestIdentifier: request.text, in: app.scope.environment,
                CommandContext.options)
            Terminal.line(ExtensionAnswers.status(status, request, productId: product))
        }

        /// Extends all active subscriptions of a product, after a confirmation.
        private func extendAll(_ context: CommandContext) async throws {
            let terms = try ExtensionInput(days: days ?? 0, reason: reason ?? -1)
            let identifier = try requestId.map { text throws(InvalidOperation) in try RequestIdentifier(uuid: text) }
            let product = productId ?? ""
            guard !product.isEmpty else { throw InvalidOperation("--product-id: empty") }
            let request = MassExtensionRequest(
                days: terms.days, reason: terms.reason, requestIdentifier: (identifier ?? RequestIdentifier()).text,
                productId: product, storefrontCountryCodes: try Storefronts.codes(storefronts))
            let app = try await context.app()
            guard !dryRun else { return try app.preview(.extendAll(request)) }
            try confirm(request, app.scope)
            let accepted = try await reportingRequest(request.requestIdentifier) {
                try await app.client.extendAll(request, in: app.scope.environment, CommandContext.options)
            }
            Terminal.line(ExtensionAnswers.accepted(accepted, productId: product))
        }

        /// Asks for confirmation, because Apple has no call that reverses an extension.
        private func confirm(_ request: MassExtensionRequest, _ scope: AppScope) throws(InvalidOperation) {
            guard !yes else { return }
            let countries =
                request.storefrontCountryCodes.isEmpty
                ? "all countries" : request.storefrontCountryCodes.joined(separator: ", ")
            let description =
                "extends all active subscriptions of \(request.productId) by \(request.days) days (\(scope.bundleId), "
                + "\(scope.environment.rawValue), \(countries)) and cannot be undone"
            let answer = Terminal.answer(to: "this \(description). Type yes to send it")
            guard answer != "yes" else { return }
            throw InvalidOperation(
                answer == nil
                    ? "not confirmed, nothing was sent: this \(description)" : "not confirmed, nothing was sent",
                hint: "--yes confirms it, --dry-run shows the request")
        }

        /// Extends one subscription.
        private func extendOne(_ context: CommandContext) async throws {
            guard let id = originalTransactionId.flatMap(TransactionIdentifier.init(rawValue:)) else {
                throw InvalidOperation("--original-transaction-id: 1 to 20 digits, not all of them 0")
            }
            let terms = try ExtensionInput(days: days ?? 0, reason: reason ?? -1)
            let identifier =
                try requestId.map { text throws(InvalidOperation) in try RequestIdentifier(text) }
                ?? RequestIdentifier()
            let app = try await context.app(of: .transaction(id))
            let request = ExtensionRequest(days: terms.days, reason: terms.reason, requestIdentifier: identifier.text)
            guard !dryRun else { return try app.preview(.extend(id, request)) }
            let result = try await reportingRequest(identifier.text) {
                try await app.client.extend(id, request, in: app.scope.environment, CommandContext.options)
            }
            Terminal.line(ExtensionAnswers.one(result, of: id, identifier))
            guard result.success else {
                Terminal.say("Apple did not extend the subscription")
                throw ExitCode.someNotVerified
            }
        }

        /// Prints the request id after an error that does not tell whether Apple executed the request. The same
        /// request can be sent again.
        private func reportingRequest<Value>(_ identifier: String, _ body: () async throws -> Value) async throws
            -> Value
        {
            do {
                return try await body()
            } catch let error as UpstreamError where error.isTemporary {
                Terminal.say("Apple may have executed the request; --request-id \(identifier) repeats it safely")
                throw error
            }
        }
    }
}
