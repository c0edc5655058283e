import ArgumentParser

@main
struct Tool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt-bridge",
        abstract: "Answers App Store receipts, old and new.",
        subcommands: [SimulateCommand.self])
}
