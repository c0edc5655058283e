import AppStoreClients
import ArgumentParser
import Base
import Operations
import Storage

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
                guard let id = TransactionIdentifier(rawValue: id) else {
                    throw InvalidOperation("a transaction id is 1 to 20 digits, not all of them 0")
                }
                guard let token = AccountToken(token) else { throw InvalidOperation("the token is not a UUID") }
                guard !dryRun else { return try context.preview(.setAppAccountToken(id, token.text)) }
                try await context.client.setAppAccountToken(
                    id, token.text, in: context.scope.environment, CommandContext.options)
                Terminal.line(AccountTokenAnswer.set(token, of: id))
            }
        }
    }
}
