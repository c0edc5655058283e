import ReceiptBridgeAppStore
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeStorage

/// The `tokens` command: sets the account token of a purchase.
struct TokensCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens", abstract: "Sets the app's own account token of a purchase.", subcommands: [Set.self])

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Sets the appAccountToken of a purchase, for example of one made outside the app.",
            discussion: """
                For a subscription, the id must be its original transaction id. Apple adds the token to the purchase and \
                to its later renewals.

                Exit codes: 0 set; 1 rejected by Apple; 2 usage; 3 stopped by a rate limit or a temporary failure.

                Example:
                  receipt-bridge tokens set 730000000000061 \\
                      5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f
                """)

        @OptionGroup var options: OperationOptions
        @Argument(help: ArgumentHelp("The original transaction id.", valueName: "transaction-id"))
        var id: String
        @Argument(help: ArgumentHelp("The token, a UUID.", valueName: "uuid"))
        var token: String
        @Flag(help: "Print the request without sending it.")
        var dryRun = false

        func run() async throws {
            try await options.run { context in
                let id = try TransactionIdentifier(argument: id)
                guard let token = AccountToken(token) else { throw InvalidOperation("the token is not a UUID") }
                let app = try await context.app(of: .transaction(id))
                guard !dryRun else { return try app.preview(.setAppAccountToken(id, token.text)) }
                try await app.client.setAppAccountToken(
                    id, token.text, in: app.scope.environment, CommandContext.options)
                Terminal.line(AccountTokenAnswer.set(token, of: id))
            }
        }
    }
}
