import ReceiptBridgeAdministration
import ArgumentParser
import ReceiptBridgeBase
import Foundation
import ReceiptBridgeStorage

/// The `export` command: data of the store for other systems.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Exports data of the store.", subcommands: [Events.self])

    struct Events: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "events",
            abstract: "Prints the changes of customers since a sequence, one line each.",
            discussion: """
                Prints the table of events in ascending order of the sequences, as JSON lines or as CSV. The last sequence is on \
                standard error; the next export continues from it with --since. Only reads the store. A server may be running: \
                an event that a transaction in progress could still precede is left to the next export.

                --follow-from FILE keeps the sequence in a file: each export prints what is new since the last one, each event \
                once, also after it was killed. On a stream the last few may be printed twice then; --to a file has each once.

                Exit codes: 0 success; 2 usage, configuration, no store; 3 the store failed, or standard output cannot \
                be written.

                Example:
                  receipt-bridge export events --since 4711 --config receipt-bridge.yaml
                """)

        @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
        @OptionGroup var output: JSONOption
        @Option(help: ArgumentHelp("Only events after this sequence.", valueName: "sequence"))
        var since: Int64?
        @Option(help: "Only events of this type.")
        var type: EventType?
        @Option(
            help: ArgumentHelp("Continue from the sequence in this file, and keep it there.", valueName: "file"),
            completion: .file())
        var followFrom: String?
        @Option(
            name: [.customLong("to"), .customShort("o")],
            help: ArgumentHelp("With --follow-from: append to this file.", valueName: "file"), completion: .file())
        var destination: String?
        @Option(help: "The form of the lines.")
        var format = EventExport.Format.jsonl

        mutating func validate() throws {
            if destination == "-" { destination = nil }
            guard !output.json || format == .jsonl else {
                throw ValidationError("--json and --format csv cannot be combined")
            }
            guard since ?? 0 >= 0 else { throw ValidationError("--since: a sequence, at least 0") }
            guard followFrom == nil || since == nil else { throw ValidationError("--since: not with --follow-from") }
            guard followFrom != nil || destination == nil else { throw ValidationError("--to needs --follow-from") }
        }

        func run() async throws {
            let result = try await configuration.withStore { store throws(StorageError) in
                await Result { try await export(store.events) }
            }
            do { try result.get() } catch { throw OperationFailure.exit(for: error) }
        }

        private func export(_ store: any EventStore) async throws {
            var cursor = try followFrom.map { try EventCursor(at: $0) } ?? EventCursor(after: since ?? 0)
            try cursor.select(type)
            if let oldest = try await cursor.oldest(in: store) {
                Terminal.say("the oldest event is \(oldest): events after \(cursor.sequence) may have expired")
            }
            let path = destination.map { URL(filePath: $0).standardizedFileURL.path }
            var output = try cursor.open(path) { Terminal.result($0) }
            if let header = format.header, output.size ?? 0 == 0 { try output.append(header) }
            let count = try await cursor.export(type, from: store, to: &output, at: path) { [format] in
                $0.map(format.line)
            }
            try cursor.close(path)
            let next = followFrom.map { "--follow-from \($0)" } ?? "--since \(cursor.sequence)"
            Terminal.inform("\(count) events; the next export: \(next)")
        }
    }
}

extension EventExport.Format: ExpressibleByArgument {}

extension EventType: ExpressibleByArgument {}
