import ArgumentParser
import CMalloc
import Cryptography
import Foundation

/// The command-line tool.
@main
struct ReceiptBridge: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "receipt-bridge",
        abstract: "Replaces Apple's verifyReceipt: proxy server, receipt decoder, migration and comparison tools.",
        version: version,
        subcommands: [
            DecodeCommand.self, VerifyCommand.self, LookupCommand.self, MigrateCommand.self, CompareCommand.self,
            ServeCommand.self, OrdersCommand.self, TokensCommand.self, RefundsCommand.self, RenewalsCommand.self,
            ReconcileCommand.self,
            ConsumptionCommand.self,
            NotificationsCommand.self, ForwardingCommand.self, ForgetCommand.self, StoreCommand.self,
            ExportCommand.self,
            SimulateCommand.self,
            MappingsCommand.self, DoctorCommand.self, BenchCommand.self, BaselineRouteCommand.self,
        ])

    /// Runs the command. Wrong arguments exit with 2, unlike the parser's default.
    static func main() async {
        keepFreedMemory()
        do {
            try OpenSSLProcess.initialize()
        } catch {
            Terminal.say(error.reason)
            exit(withError: ExitCode.failure)
        }
        do {
            var command = try parseAsRoot()
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
                Terminal.say(message(for: error), hint: "\(commandPath(CommandLine.arguments.dropFirst())) --help")
                exit(withError: ExitCode.usage)
            }
            exit(withError: error)
        }
    }

    /// Returns the command named by the arguments, for example `receipt-bridge refunds sweep`.
    private static func commandPath(_ arguments: some Sequence<String>) -> String {
        var (command, words): (any ParsableCommand.Type, [String]) = (ReceiptBridge.self, ["receipt-bridge"])
        for argument in arguments {
            let subcommand = command.configuration.subcommands.first { $0.configuration.commandName == argument }
            guard let subcommand else { break }
            command = subcommand
            words.append(argument)
        }
        return words.joined(separator: " ")
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
