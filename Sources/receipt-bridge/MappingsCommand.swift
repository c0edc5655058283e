import ArgumentParser
import Foundation
import Rendering

/// `mappings`: the field tables, validated, shown and applied.
struct MappingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mappings",
        abstract: "The tables between verifyReceipt's keys and the App Store Server API's names.",
        subcommands: [Check.self, List.self, Convert.self])

    /// A line a table, `ok` or what is wrong with it; exit 2 for a fault.
    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Checks the tables of a folder, or those in the program.",
            discussion: """
                Exit codes: 0 no mistake; 2 mistakes.

                Example:
                  receipt-bridge mappings check Mappings
                """)

        @Argument(help: ArgumentHelp("Folder of tables, as Mappings/.", valueName: "dir"), completion: .directory)
        var folder: String?

        func run() throws {
            let findings =
                folder.map { FieldTables.findings(directory: URL(filePath: $0)) } ?? FieldTables.bundledFindings
            for (file, error) in findings where error == nil { Terminal.line("\(file): ok") }
            let errors = findings.compactMap(\.error)
            for error in errors { Terminal.say("\(error)") }
            guard errors.isEmpty else { throw ExitCode.usage }
        }
    }

    /// Every key, property and conversion, and what is left out.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows every table, omissions included.",
            discussion: """
                The tables in the program.

                Example:
                  receipt-bridge mappings list --format markdown
                """)

        @Option(help: "text for people, markdown for documents, json for programs.")
        var format = TableListing.text
        @OptionGroup var tables: TablesOptions

        func run() throws {
            Terminal.result(Array(try tables.tables().listing(format).utf8))
        }
    }

    /// One document; exit 1 when it cannot be converted.
    struct Convert: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Converts a verifyReceipt answer to camelCase, or a camelCase document to one.",
            discussion: """
                Exit codes: 0 converted; 1 the document cannot be converted; 2 usage.

                Example:
                  receipt-bridge mappings convert --to camel answer.json
                """)

        enum Direction: String, ExpressibleByArgument, CaseIterable {
            case camel, snake
        }

        @Option(help: "camel: from a verifyReceipt answer; snake: to one.")
        var to: Direction
        @OptionGroup var tables: TablesOptions
        @Argument(help: ArgumentHelp("A file, or - for standard input.", valueName: "file"), completion: .file())
        var file: String

        func run() throws {
            let converter = DocumentConverter(tables: try tables.tables())
            guard let input = ReceiptInputs.read(file) else {
                Terminal.say("\(file): cannot be read")
                throw ExitCode.usage
            }
            do throws(ConversionError) {
                switch to {
                case .camel:
                    Terminal.line(try converter.camelCase(input))
                    sayPassedOver(try converter.ignoredKeys(in: input))
                case .snake:
                    Terminal.line(try converter.snakeCase(input))
                    sayPassedOver(try converter.ignoredKeys(inCamelCase: input))
                }
            } catch {
                Terminal.say("\(file): \(error)")
                throw ExitCode.someNotVerified
            }
        }

        private func sayPassedOver(_ keys: [String]) {
            guard !keys.isEmpty else { return }
            let others = keys.count > 50 ? " and \(keys.count - 50) more" : ""
            Terminal.say("\(file): passed over: \(keys.prefix(50).joined(separator: ", "))\(others)")
        }
    }
}

/// Which tables a command uses.
struct TablesOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Folder of tables, as Mappings/; those in the program without it.", valueName: "dir"))
    var mappings: String?

    func tables() throws -> FieldTables {
        guard let mappings else { return .bundled }
        let folder = URL(filePath: mappings)
        let errors = FieldTables.findings(directory: folder).compactMap(\.error)
        for error in errors { Terminal.say("\(error)") }
        guard errors.isEmpty else { throw ExitCode.usage }
        return try FieldTables(directory: folder)
    }
}

extension TableListing: ExpressibleByArgument {}
