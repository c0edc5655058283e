import ReceiptBridgeAdministration
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeStorage

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
