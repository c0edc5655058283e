import ArgumentParser

@main
struct Tool: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "receipt-bridge",
        abstract: "Answers App Store receipts: for old app versions, for migrations, for comparisons.",
        version: version,
        subcommands: [DecodeCommand.self, VerifyCommand.self, ServeCommand.self, SimulateCommand.self, BenchCommand.self])

    /// Argument mistakes exit with 2, whatever the parser's own habit.
    static func main() async {
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
                Terminal.say(message(for: error), hint: "receipt-bridge --help")
                exit(withError: ExitCode.usage)
            }
            exit(withError: error)
        }
    }
}
