import AppStore
import ArgumentParser
import Ledger
import Operations
import StoreTypes

/// The `orders` command: looks up a customer's order.
struct OrdersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "orders", abstract: "What an order holds.", subcommands: [Lookup.self])

    struct Lookup: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "lookup",
            abstract: "Prints the purchases of an order, by the id on the customer's invoice.",
            discussion: """
                Exit codes: 0 found; 1 no order with a purchase of this app; 2 usage; 3 a rate limit, a key that the \
                App Store refuses, or no answer.

                Example:
                  receipt-bridge orders lookup M76RHDBYIBH --config bridge.yaml
                """)

        @OptionGroup var options: OperationOptions
        @Argument(help: ArgumentHelp("As on the invoice.", valueName: "order-id"))
        var orderId: String

        func run() async throws {
            try await options.run { context in
                guard context.scope.environment == .production else {
                    throw InvalidOperation("the sandbox has no orders: Apple looks them up in production only")
                }
                let order = try await context.client.order(orderId, CommandContext.options)
                Terminal.line(OrderAnswer.line(order, orderId: orderId))
                guard order.status == 0 else {
                    let what =
                        order.status == 1
                        ? "no such order, or none with a purchase of this app"
                        : "a status that is not documented, \(order.status): taken as no such order"
                    Terminal.say(what)
                    throw ExitCode.someNotVerified
                }
            }
        }
    }
}
