import ArgumentParser
import ReceiptBridgeCBuild
import ReceiptBridgeCMalloc
import ReceiptBridgeCryptography
import ReceiptBridgeBase

@main
struct ReceiptBridge: AsyncParsableCommand {
    /// Between releases, the next version with `-dev`.
    static let version = "0.2.0-dev"

    static let configuration = CommandConfiguration(
        commandName: "receipt-bridge",
        abstract: "Replaces Apple's verifyReceipt: proxy server, receipt decoder, migration and comparison tools.",
        discussion: """
            Examples:
              receipt-bridge init                          # a first configuration
              receipt-bridge doctor                        # check it
              receipt-bridge serve                         # run the proxy
              receipt-bridge decode receipt.b64            # what is in a receipt
              receipt-bridge migrate old.csv -o new.jsonl  # convert stored receipts

            Read on: man receipt-bridge, and README.md and docs/README.md of the source code.
            Completions: receipt-bridge --generate-completion-script bash, zsh or fish.
            """,
        version: build,
        groupedSubcommands: [
            CommandGroup(
                name: "Common",
                subcommands: [
                    InitCommand.self, DoctorCommand.self, ServeCommand.self, DecodeCommand.self, VerifyCommand.self,
                    MigrateCommand.self, CompareCommand.self,
                ]),
            CommandGroup(
                name: "App Store",
                subcommands: [
                    LookupCommand.self, OrdersCommand.self, RefundsCommand.self, RenewalsCommand.self,
                    ConsumptionCommand.self, TokensCommand.self, NotificationsCommand.self, ReconcileCommand.self,
                ]),
            CommandGroup(
                name: "Store",
                subcommands: [
                    ForgetCommand.self, ForwardingCommand.self, ExportCommand.self, StoreCommand.self,
                ]),
            CommandGroup(
                name: "Development",
                subcommands: [
                    SimulateCommand.self, MappingsCommand.self, BenchCommand.self, BaselineRouteCommand.self,
                ]),
        ])

    /// The version with what the binary was built from, for example `receipt-bridge 0.2.0-dev (commit 0123456789ab,
    /// Swift 6.2)`. Without the commit if the build did not name it.
    private static var build: String {
        let commit = String(cString: receipt_bridge_commit())
        #if compiler(>=6.4)
            let swift = "Swift 6.4 or later"
        #elseif compiler(>=6.3)
            let swift = "Swift 6.3"
        #else
            let swift = "Swift 6.2"
        #endif
        return "receipt-bridge \(version) (\(commit.isEmpty ? "" : "commit \(commit), ")\(swift))"
    }

    /// Only for the help: ``ColorPolicy/ofProcess`` finds the option anywhere on the command line.
    @Option(
        help: ArgumentHelp("Colors: on a terminal, always or never. NO_COLOR turns them off, too.", valueName: "when"))
    var color = ColorPolicy.auto

    /// Runs the command. Wrong arguments exit with 2, unlike the parser's default.
    static func main() async {
        keepFreedMemory()
        do {
            try OpenSSLProcess.initialize()
        } catch {
            Terminal.say(error.reason)
            exit(withError: ExitCode.defect)
        }
        let (color, rest) = ColorPolicy.split(CommandLine.arguments.dropFirst())
        do {
            var command = try parseAsRoot(color + rest)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let code as ExitCode {
            exit(withError: code)
        } catch {
            let isHelp = exitCode(for: error) == .success
            guard isHelp else {
                let arguments = Misspelling(rest)
                Terminal.say(arguments.sentence ?? message(for: error), hint: "\(arguments.command) --help", as: .bad)
                exit(withError: ExitCode.usage)
            }
            exit(withError: error)
        }
    }

    /// Keeps freed memory in the process. Receipts and responses are buffers of some hundred kilobytes that are
    /// allocated and freed often. By default glibc returns each to the kernel at once, and fresh zeroed pages cost a
    /// tenth of the time of a large response.
    private static func keepFreedMemory() {
        #if canImport(Glibc)
            mallopt(M_MMAP_THRESHOLD, 4 << 20)
            mallopt(M_TRIM_THRESHOLD, 16 << 20)
        #endif
    }
}

/// A command or an option that the parser does not know, in arguments that it rejected.
///
/// The parser itself suggests options only, and only if nothing that is required is missing.
struct Misspelling {
    /// The command that the arguments name, for example `receipt-bridge refunds sweep`.
    let command: String
    /// What is unknown, and what may be meant; `nil` if nothing is unknown or resembles a known name.
    let sentence: String?

    init(_ arguments: some Collection<String>) {
        var (type, words): (any ParsableCommand.Type, [String]) = (ReceiptBridge.self, ["receipt-bridge"])
        var rest = arguments[...]
        while let word = rest.first, let next = type.configuration.subcommands.first(where: { $0._commandName == word })
        {
            type = next
            words.append(word)
            rest = rest.dropFirst()
        }
        command = words.joined(separator: " ")
        if words.count == 1, let word = rest.first, let meant = Self.synonyms[word] {
            sentence = "Unknown \(word.hasPrefix("-") ? "option" : "command") '\(word)'. Did you mean \(meant)?"
            return
        }
        if let word = rest.first, !word.hasPrefix("-"), !type.configuration.subcommands.isEmpty {
            let names = type.configuration.subcommands.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
            sentence = Self.sentence("Unknown command '\(word)'", word.didYouMean(names + ["help"]))
            return
        }
        let help = ReceiptBridge.helpMessage(for: type, includeHidden: true)
        let known = Set(help.matches(of: /--[a-z0-9][a-z0-9-]*/).map { String($0.output) })
        let options = rest.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
        let unknown = options.first { !known.contains($0) && !$0.didYouMean(known).isEmpty }
        sentence = unknown.flatMap { Self.sentence("Unknown option '\($0)'", $0.didYouMean(known)) }
    }

    /// What other programs call a command.
    private static let synonyms = [
        "start": "serve", "run": "serve", "server": "serve", "proxy": "serve", "check": "doctor", "validate": "doctor",
        "test": "doctor", "status": "doctor", "version": "--version", "-V": "--version", "-v": "--version",
        "import": "migrate", "convert": "migrate", "diff": "compare", "delete": "forget", "erase": "forget",
    ]

    private static func sentence(_ unknown: String, _ question: String) -> String? {
        question.isEmpty ? nil : unknown + question
    }
}
