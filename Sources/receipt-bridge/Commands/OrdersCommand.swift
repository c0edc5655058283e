import ReceiptBridgeAdministration
import ReceiptBridgeAppStore
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeStorage

/// The `orders` command: looks up customers' orders.
struct OrdersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "orders", abstract: "Looks up orders.", subcommands: [Lookup.self])

    struct Lookup: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "lookup",
            abstract: "Prints the purchases of an order, by the id on the customer's invoice.",
            discussion: """
                --ids works through a list and prints one line for each id, or writes it to --to FILE. A run that was \
                stopped resumes with the same command.

                Exit codes: 0 found; 1 no order with a purchase of this app, for some of the ids; 2 usage; 3 a rate limit, \
                a key that the App Store rejects, or no response.

                Example:
                  receipt-bridge orders lookup M76RHDBYIBH --config receipt-bridge.yaml
                """)

        @OptionGroup var options: OperationOptions
        @OptionGroup var list: ListOptions
        @Argument(help: ArgumentHelp("The order id on the invoice.", valueName: "order-id"))
        var orderId: String?

        func validate() throws {
            guard (orderId == nil) != (list.ids == nil) else { throw ValidationError("specify one order id, or --ids") }
        }

        func run() async throws {
            try await options.run(list) { context in
                guard context.environment == .production else {
                    throw InvalidOperation("the sandbox has no orders: Apple supports order lookup only in production")
                }
                let isList = try await list.run(
                    options: "orders \(context.bundleId ?? "")", OrderList.entries
                ) { try await OrderReport.result(of: $1, $2, from: context.client) }
                if !isList { try await lookUp(context) }
            }
        }

        private func lookUp(_ context: CommandContext) async throws {
            guard let id = OrderIdentifier(rawValue: orderId ?? "") else {
                throw InvalidOperation("an order id is 1 to 64 letters and digits")
            }
            let report = try await OrderReport(of: id, from: context.client(of: id), CommandContext.options)
            Terminal.line(OrderAnswer.json(report, includesSigned: true))
            guard !report.isFound else { return }
            let status = report.order.status
            Terminal.say(
                status == 1
                    ? "no such order, or the order has no purchase of this app"
                    : "undocumented order status \(status); treated as no such order")
            throw ExitCode.someNotVerified
        }
    }
}

extension CommandContext {
    @Sendable fileprivate func client(of order: OrderIdentifier?) async throws -> ServerAPIClient {
        try await app(of: order.map { .order($0.rawValue) }).client
    }
}
