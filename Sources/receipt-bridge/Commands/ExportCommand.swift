import Administration
import ArgumentParser
import Storage

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

                Exit codes: 0 success; 2 usage, configuration, no store; 3 the store failed, or standard output cannot \
                be written.

                Example:
                  receipt-bridge export events --since 4711 --config receipt-bridge.yaml
                """)

        @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
        @OptionGroup var output: JSONOption
        @Option(help: ArgumentHelp("Only events after this sequence.", valueName: "sequence"))
        var since: Int64 = 0
        @Option(help: "The form of the lines.")
        var format = EventExport.Format.jsonl

        func validate() throws {
            guard !output.json || format == .jsonl else {
                throw ValidationError("--json and --format csv cannot be combined")
            }
            guard since >= 0 else { throw ValidationError("--since: a sequence, at least 0") }
        }

        func run() async throws {
            let summary = try await configuration.withStore { store throws(StorageError) in
                try await EventExport.run(store.events, as: format, after: since) { Terminal.result($0) }
            }
            if let oldest = summary.oldest {
                Terminal.say("the oldest event is \(oldest): events after \(since) may have expired")
            }
            Terminal.inform("\(summary.count) events; the next export: --since \(summary.last)")
        }
    }
}

extension EventExport.Format: ExpressibleByArgument {}
