import ReceiptBridgeAdministration
import ArgumentParser
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeTransport

/// The `doctor` command: checks whether an installation has what it needs.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks configuration, keys, clock, store and the connection to Apple; changes nothing.",
        discussion: """
            Exit codes: 0 no check failed; 1 a check failed; 2 the configuration cannot be read.

            Example:
              receipt-bridge doctor --config receipt-bridge.yaml --receipt receipt.b64
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @OptionGroup var quiet: QuietOption
    @Flag(help: "Print a JSON array instead of the table.")
    var json = false
    @Flag(help: "Skip all checks that need the network: hosts, proxy and clock.")
    var offline = false
    @Option(
        help: ArgumentHelp(
            "Check with a real receipt: which app it is of, and whether Apple accepts that app's shared secret.",
            valueName: "file"),
        completion: .file())
    var receipt: String?

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let checks: [CheckResult]
        let hasApps: Bool
        do throws(ConfigurationError) {
            let settings = try configuration.settingsWithRoots()
            hasApps = !settings.apps.isEmpty
            checks = await runChecks(settings, environment)
        } catch {
            show(Doctor.checks(configurationError: error), next: "correct what failed, and run doctor again")
            throw error.isUnreadable ? ExitCode.usage : ExitCode.someNotVerified
        }
        let hasFailed = checks.contains { $0.verdict == .fail }
        show(checks, next: hasFailed ? "correct what failed, and run doctor again" : next(hasApps: hasApps))
        guard !hasFailed else { throw ExitCode.someNotVerified }
    }

    /// Returns the command that comes after checks of which none failed.
    private func next(hasApps: Bool) -> String {
        guard hasApps || configuration.isNamed else { return "receipt-bridge init writes a first configuration" }
        let file = configuration.config.map { " --config \($0)" } ?? ""
        return offline ? "receipt-bridge doctor\(file), which also asks Apple" : "receipt-bridge serve\(file)"
    }

    /// If libcurl cannot be initialized, the checks that need the network are replaced by one failure.
    private func runChecks(_ settings: ProxyConfiguration, _ environment: [String: String]) async -> [CheckResult] {
        var transport: CurlTransport?
        var failure: [CheckResult] = []
        do {
            transport = offline ? nil : try CurlTransport(settings: settings, version: ReceiptBridge.version)
        } catch {
            failure = [CheckResult("upstream", .fail, "\(error)")]
        }
        var doctor = Doctor(settings: settings, transport: transport, environment: environment)
        do throws(UnreadableFile) {
            if let receipt { doctor.receipt = (receipt, try ReceiptInputs.read(receipt)) }
        } catch {
            failure.append(CheckResult("receipt", .fail, error.reason))
        }
        let checks = await doctor.checks() + failure
        await transport?.shutDown()
        return checks
    }

    /// Prints the results. Text from outside is made visible in the table; JSON is printed as it is.
    private func show(_ checks: [CheckResult], next: String) {
        guard !json else { return Terminal.line(checks.json) }
        let columns = Terminal.resultsGoToTerminal ? Terminal.columns(of: STDOUT_FILENO) : nil
        let shown = (Terminal.isQuiet ? checks.filter { $0.verdict != .pass } : checks).table(columns: columns)
        let table = Terminal.style(
            beginnings: [("pass", .good), ("warn", .warning), ("fail", .bad), ("→", .heading)],
            of: Terminal.visible(shown), on: STDOUT_FILENO)
        Terminal.result(Array(table.utf8))
        if !Terminal.isQuiet { Terminal.line("\(checks.summary); next: \(next)") }
    }
}
