import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeResponses

/// The `mappings` command: validates, shows and applies the field tables.
struct MappingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mappings",
        abstract: "Checks, shows and applies the tables that map verifyReceipt keys to App Store Server API fields.",
        subcommands: [Check.self, List.self, Convert.self])

    /// Prints one line per table: `ok` or its errors. The exit code is 2 if there are errors.
    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Checks the tables of a directory, or the built-in tables.",
            discussion: """
                Exit codes: 0 no errors; 2 errors.

                Example:
                  receipt-bridge mappings check Mappings
                """)

        @Argument(
            help: ArgumentHelp("Directory of tables, for example Mappings.", valueName: "dir"), completion: .directory)
        var folder: String?
        @Flag(help: "Print a JSON array of {file, error}; error is null without an error.")
        var json = false

        func run() throws {
            let findings = folder.map { FieldTables.findings(directory: $0) } ?? FieldTables.bundledFindings
            if json {
                Terminal.line(
                    JSONWriter.array(findings) { writer, finding in
                        writer.member("file", finding.file)
                        writer.member("error", finding.error.map { "\($0)" })
                    })
            } else {
                for (file, error) in findings where error == nil { Terminal.line("\(file): ok") }
            }
            let errors = findings.compactMap(\.error)
            for error in errors { Terminal.say("\(error)") }
            guard errors.isEmpty else { throw ExitCode.usage }
        }
    }

    /// Prints every key, property and conversion, and the omitted fields.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows every table, including omitted fields.",
            discussion: """
                Without --mappings, shows the built-in tables.

                Example:
                  receipt-bridge mappings list --format markdown
                """)

        @Option(help: "The output: text for people, markdown for documents, json for programs.")
        var format = TableListing.text
        @Flag(help: "The same as --format json.")
        var json = false
        @OptionGroup var tables: TablesOptions

        func run() throws { Terminal.result(Array(try tables.tables().listing(json ? .json : format).utf8)) }
    }

    /// Converts one document. The exit code is 1 if it cannot be converted.
    struct Convert: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Converts a verifyReceipt response to a camelCase document, or back.",
            discussion: """
                Exit codes: 0 converted; 1 the document cannot be converted; 2 usage.

                Example:
                  receipt-bridge mappings convert --to camel answer.json
                """)

        enum Direction: String, ExpressibleByArgument, CaseIterable {
            case camel, snake
        }

        @Option(help: "camel: from a verifyReceipt response; snake: to a verifyReceipt response.")
        var to: Direction
        @OptionGroup var output: JSONOption
        @OptionGroup var tables: TablesOptions
        @Argument(help: ArgumentHelp("A file, or - for standard input.", valueName: "file"), completion: .file())
        var file: String

        func run() throws {
            let converter = DocumentConverter(tables: try tables.tables())
            let input: [UInt8]
            do throws(UnreadableFile) { input = try ReceiptInputs.read(file) } catch {
                Terminal.say(error.reason)
                throw ExitCode.usage
            }
            do throws(ConversionError) {
                switch to {
                case .camel:
                    Terminal.line(try converter.camelCase(input))
                    for shape in try converter.rewrittenShapes(in: input) { Terminal.say("\(file): read \(shape)") }
                    reportIgnored(try converter.ignoredKeys(in: input))
                case .snake:
                    Terminal.line(try converter.snakeCase(input))
                    reportIgnored(try converter.ignoredKeys(inCamelCase: input))
                }
            } catch {
                Terminal.say("\(file): \(error)")
                throw ExitCode.someNotVerified
            }
        }

        /// Reports keys that are in no table. At most 50 are listed.
        private func reportIgnored(_ keys: [String]) {
            guard !keys.isEmpty else { return }
            let others = keys.count > 50 ? " and \(keys.count - 50) more" : ""
            Terminal.say("\(file): ignored unknown keys: \(keys.prefix(50).joined(separator: ", "))\(others)")
        }
    }
}

struct TablesOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Directory of tables, for example Mappings (default: the built-in tables).", valueName: "dir"),
        completion: .directory)
    var mappings: String?

    /// Returns the tables. If there are errors in the directory, all of them are printed.
    func tables() throws -> FieldTables {
        guard let mappings else { return .bundled }
        let errors = FieldTables.findings(directory: mappings).compactMap(\.error)
        for error in errors { Terminal.say("\(error)") }
        guard errors.isEmpty else { throw ExitCode.usage }
        return try FieldTables(directory: mappings)
    }
}

extension TableListing: ExpressibleByArgument {}
