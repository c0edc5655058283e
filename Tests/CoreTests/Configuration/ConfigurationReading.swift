import Foundation
import ReceiptBridgeCore
import ReceiptBridgeServer
import ReceiptBridgeTestSupport
import Testing

/// Reads a configuration file, as a server does.
func configuration(
    _ yaml: String, in folder: TemporaryFolder, environment: [String: String] = [:],
    flags: [ConfigurationEnvironment.Flag] = []
) throws -> ProxyConfiguration {
    let file = URL(filePath: try folder.write("bridge.yaml", yaml))
    return try ConfigurationEnvironment.settings(file: file, environment: environment, flags: flags, checks: .server)
}

/// The findings, without the file's name if they begin with it, otherwise in parentheses, and without the folder; empty
/// if there are none.
func findings(
    _ yaml: String, in folder: TemporaryFolder? = nil, environment: [String: String] = [:],
    flags: [ConfigurationEnvironment.Flag] = []
) throws -> [String] {
    let folder = try folder ?? TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    do {
        _ = try configuration(yaml, in: folder, environment: environment, flags: flags)
        return []
    } catch let error as ConfigurationError {
        return error.findings.map { $0.replacing("\(folder.url.path)/", with: "") }
            .map { $0.hasPrefix("bridge.yaml: ") ? String($0.dropFirst(13)) : "(\($0))" }
    }
}

/// The error for variables without a configuration file.
func findings(environment: [String: String]) -> [String]? {
    let error = #expect(throws: ConfigurationError.self) {
        try ConfigurationEnvironment.settings(file: nil, environment: environment, checks: .server)
    }
    return error?.findings
}
