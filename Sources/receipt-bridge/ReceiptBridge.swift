import ArgumentParser
import ReceiptBridgeCBuild
import ReceiptBridgeCMalloc
import ReceiptBridgeCryptography

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
