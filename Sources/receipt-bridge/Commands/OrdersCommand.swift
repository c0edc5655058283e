import AppStorePayloads
import AppStoreClients
import ArgumentParser
import Storage
import Administration
import AppStoreTypes

/// The `orders` command: looks up a customer's order.
struct OrdersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "orders", abstract: "Looks up orders.", subcommands: [Lookup.self])

    struct Lookup: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "lookup",
            abstract: "Prints the purchases of an order, by the id on the customer's invoice.",
            discussion: """
                Exit codes: 0 found; 1 no order with a purchase of this app; 2 usage; 3 a rate limit, a key that the \
                App Store rejects, or no response.

                Example:
                  receipt-bridge orders lookup M76RHDBYIBH --config bridge.yaml
                """)

        @OptionGroup var options: OperationOptions
        @Argument(help: ArgumentHelp("The order id on the invoice.", valueName: "order-id"))
        var orderId: String

        func run() async throws {
            try await options.run { context in
                guard context.scope.environment == .production else {
                    throw InvalidOperation("the sandbox has no orders: Apple supports order lookup only in production")
                }
                let order = try await context.client.order(orderId, CommandContext.options)
                Terminal.line(OrderAnswer.line(order, orderId: orderId))
                guard order.status == 0 else {
                    let message =
                        order.status == 1
                        ? "no such order, or the order has no purchase of this app"
                        : "undocumented order status \(order.status); treated as no such order"
                    Terminal.say(message)
                    throw ExitCode.someNotVerified
                }
            }
        }
    }
}
