package import ReceiptBridgeBase
import Foundation

extension ProxyConfiguration {
    /// The address of a listener, `HOST:PORT`.
    package struct Address: Sendable, Hashable, CustomStringConvertible {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        /// Parses `HOST:PORT`; an IPv6 address is in brackets, for example `[::1]:8080`.
        package init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
                return nil
            }
            var host = String(text[..<colon])
            if host.hasPrefix("["), host.hasSuffix("]") {
                host = String(host.dropFirst().dropLast())
            } else if host.contains(":") {
                return nil
            }
            guard !host.isEmpty else { return nil }
            self.init(host: host, port: Int(port))
        }

        package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

        /// Whether the address is `localhost`, in 127.0.0.0/8, or ::1. A host name that only begins with `127.`, for
        /// example `127.example.com`, is not.
        package var isLoopback: Bool {
            let name = host.lowercased()
            if name == "localhost" || name == "::1" { return true }
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
        }
    }
}

/// The contents of the files that `tls` names.
package struct TLSFiles: Sendable, Hashable {
    /// Certificates in PEM form, the listener's own first.
    package let certificates: [UInt8]
    /// An unencrypted private key in PEM form.
    package let privateKey: Redacted<[UInt8]>

    package init(certificates: [UInt8], privateKey: [UInt8]) {
        self.certificates = certificates
        self.privateKey = Redacted(privateKey)
    }
}

extension ConfigurationFile {
    /// The largest PEM file that is read, in bytes; longer than any certificate chain or private key.
    private static let maximumPEMSize = 1 << 20

    /// Reads `tls: {certificate: path, privateKey: path}`. Returns `nil` if TLS is not configured, or if one of the
    /// files has a mistake, which is recorded.
    static func tls(_ key: String, of root: ConfigurationNode) -> TLSFiles? {
        guard let node = root.child(key) else { return nil }
        let certificates = pem("certificate", of: node)
        let privateKey = pem("privateKey", of: node)
        node.finish()
        guard let certificates, let privateKey else { return nil }
        node.file.secretFiles.append(.init(key: node.name("privateKey"), path: privateKey.url.path))
        let files = TLSFiles(certificates: certificates.bytes, privateKey: privateKey.bytes)
        do throws(ListenerCertificateError) {
            try node.file.checks.tls(files)
            return files
        } catch {
            switch error {
            case .certificate(let expected): node.note("certificate", "\(certificates.path): \(expected)")
            case .privateKey(let expected): node.note("privateKey", "\(privateKey.path): \(expected)")
            }
            return nil
        }
    }

    private static func pem(_ key: String, of node: ConfigurationNode) -> (path: String, url: URL, bytes: [UInt8])? {
        let expected = "the path of a PEM file"
        guard let path = node.text(key, expecting: expected), ConfigurationDiagnostics.isPath(path) else {
            node.noteMissing(key, "expected \(expected)")
            return nil
        }
        let url = node.resolve(path, of: key)
        let bytes: [UInt8]
        do throws(SystemFailure) {
            bytes = try ConfigurationDiagnostics.contents(of: url, atMost: maximumPEMSize + 1)
        } catch {
            node.note(key, ConfigurationDiagnostics.unreadable(path, at: url, error.reason))
            return nil
        }
        guard bytes.count <= maximumPEMSize else {
            let reason = "it is longer than \(maximumPEMSize) bytes"
            node.note(key, ConfigurationDiagnostics.unreadable(path, at: url, reason))
            return nil
        }
        return (path, url, bytes.withoutByteOrderMark)
    }
}
