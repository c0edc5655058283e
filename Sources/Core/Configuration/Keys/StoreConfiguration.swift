package import ReceiptBridgeBase
import Foundation
import ReceiptBridgeStorage

/// The connections to a PostgreSQL database, as the configuration key `database` describes them.
package struct DatabaseConfiguration: Sendable, Hashable {
    /// Where the password comes from; `nil` if the server asks for none.
    package var password: SecretSource?
    /// Number of connections of this process.
    package var connections: Int64 = 4
    package var statementTimeout = Duration.seconds(5)
    /// Whether statements are prepared once for each connection. pgbouncer before 1.21 in transaction mode cannot hand
    /// them on.
    package var usesPreparedStatements = true
    /// Name or path of libpq.
    package var library = "libpq.so.5"
}

extension SecretSource {
    package struct Unreadable: Error, Sendable, CustomStringConvertible {
        package let path: String
        package let reason: String

        package var description: String { "cannot read the password in \(path): \(reason)" }
    }

    /// Returns the password of a database, without whitespace around it. A file is read for each connection.
    ///
    /// - Throws: ``Unreadable`` if the file cannot be read or is empty.
    package func password() throws(Unreadable) -> String {
        switch self {
        case .text(let text): return text.reveal()
        case .file(let path):
            let bytes: [UInt8]
            do throws(SystemFailure) { bytes = try FileDescriptor(reading: path).readToEnd(atMost: 4_096) } catch {
                throw Unreadable(path: path, reason: error.reason)
            }
            let password = String(decoding: bytes, as: UTF8.self).trimmed
            guard !password.isEmpty else { throw Unreadable(path: path, reason: "the file is empty") }
            return password
        }
    }
}

extension ProxyConfiguration {
    /// The name of this server among those that use the same store: the key `instance`, otherwise the host name and
    /// the port of the public listener.
    package var instanceName: String { instance ?? "\(ProcessInfo.processInfo.hostName):\(listen.port)" }
}

extension ConfigurationFile {
    /// Reads `store`. With a configuration file the default is a SQLite file next to it. Without one there is no
    /// store, so that nothing is written to disk.
    static func readStore(_ root: ConfigurationNode, _ name: String, _ settings: inout ProxyConfiguration) {
        let usual = root.file.hasFile ? "sqlite:receipt-bridge.sqlite" : nil
        guard let text = root.text(name, expecting: StoreAddress.forms) ?? usual else { return }
        do throws(StoreAddressError) {
            settings.store = try StoreAddress.parse(text) { root.resolve($0, of: name).path }
        } catch {
            root.note(name, error.reason)
        }
    }

    static func readBoolean(_ node: ConfigurationNode, _ name: String) -> Bool? {
        enum Choice: String, CaseIterable { case `true`, `false` }
        return node.choice(name, of: Choice.self).map { $0 == .true }
    }
}
