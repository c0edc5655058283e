import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeServer
import ReceiptBridgeStorage

/// The `init` command: writes a first configuration.
struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Writes a first configuration to receipt-bridge.yaml in this folder.",
        discussion: """
            Asks nothing, and changes no existing file. The other keys are in docs/CONFIGURATION.md.

            Exit codes: 0 written; 2 usage, or receipt-bridge.yaml exists.

            Example:
              receipt-bridge init --bundle-id com.example.app \\
                  --shared-secret-file secret.txt
            """)

    @Option(help: ArgumentHelp("The app (default: com.example.app, to be replaced).", valueName: "bundle-id"))
    var bundleId = "com.example.app"
    @Option(
        help: ArgumentHelp(
            "An existing file with the app's shared secret (default: none, the key is a comment).", valueName: "file"),
        completion: .file())
    var sharedSecretFile: String?
    @Flag(help: "Reject receipts of the sandbox. App Review and TestFlight need them.")
    var denySandbox = false

    func run() throws {
        let name = ConfigurationOptions.standardFile
        do {
            // The file must be usable, whatever the options are.
            let settings = try ConfigurationFile.parse(
                text, name: name, folder: URL(filePath: "."), environment: [:], checks: .server)
            for path in settings.secretFiles.map(\.path) {
                guard let others = FileExposure(path: path)?.description else { continue }
                Terminal.say("\(path) can be read or changed by \(others)", hint: "chmod 600 \(path)")
            }
            guard !FileManager.default.fileExists(atPath: name) else {
                throw InvalidOperation("\(name) exists, and is not changed", hint: "receipt-bridge doctor checks it")
            }
            var file = try OutputFile(path: name, cutAt: nil)
            try file.append(Array(text.utf8))
            try file.makeDurable()
        } catch {
            throw OperationFailure.exit(for: error)
        }
        Terminal.inform("\(name) is written", hint: "receipt-bridge doctor checks it, receipt-bridge serve uses it")
    }

    /// The configuration. Every line that is a comment is the default, or an example. A string in JSON is one in YAML.
    private var text: String {
        let secret =
            sharedSecretFile.map { "    sharedSecret: {file: \(JSONWriter.string($0))}" }
            ?? "    # sharedSecret: {file: secret.txt}   # a file with mode 600, or {env: NAME}"
        return """
            # Receipt Bridge. Check with receipt-bridge doctor, run with receipt-bridge serve.
            # All keys: docs/CONFIGURATION.md. Paths are relative to this file. No secret belongs into it.

            # listen: 127.0.0.1:8080                 # your TLS terminator connects here
            # operations: {listen: 127.0.0.1:8081}   # status page, health, metrics; on this machine only
            # store: sqlite:receipt-bridge.sqlite    # none: nothing survives a restart
            # unknownApps: pass                      # refuse: receipts of other apps get 21003
            apps:
              - bundleId: \(JSONWriter.string(bundleId))
                # App Store Connect, App Information, App-Specific Shared Secret:
            \(secret)
                sandbox: \(denySandbox ? "deny " : "allow")                       # App Review and TestFlight need allow
                # Where answers come from, each the fallback of the one before: apple, receipt, api, stored.
                answer: [apple, receipt]
                # For api, an In-App Purchase key of App Store Connect, Users and Access, Integrations:
                # serverAPI: {issuerId: UUID, keyId: KEYID, privateKey: {file: SubscriptionKey_KEYID.p8}}

            """
    }
}
