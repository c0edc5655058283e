import Foundation
import ListenerTLS

extension ConfigurationFile {
    /// The largest PEM file that is read, in bytes; longer than any certificate chain or private key.
    private static let maximumPEMSize = 1 << 20

    /// Reads `tls: {certificate: path, privateKey: path}`. Returns `nil` if TLS is not configured, or if one of the
    /// files has a mistake, which is recorded.
    static func tls(of root: ConfigurationNode) -> ListenerCertificate? {
        guard let node = root.child("tls") else { return nil }
        let certificates = pem("certificate", of: node)
        let privateKey = pem("privateKey", of: node)
        node.finish()
        guard let certificates, let privateKey else { return nil }
        node.file.secretFiles.append(.init(key: node.name("privateKey"), path: privateKey.url.path))
        do throws(ListenerCertificateError) {
            return try ListenerCertificate(certificates: certificates.bytes, privateKey: privateKey.bytes)
        } catch {
            switch error {
            case .certificate(let expected): node.note("certificate", "\(certificates.path): \(expected)")
            case .privateKey(let expected): node.note("privateKey", "\(privateKey.path): \(expected)")
            }
            return nil
        }
    }

    /// Reads the PEM file that a key names.
    private static func pem(_ key: String, of node: ConfigurationNode) -> (path: String, url: URL, bytes: [UInt8])? {
        let expected = "the path of a PEM file"
        guard let path = node.text(key, expecting: expected), ConfigurationDiagnostics.isPath(path) else {
            node.noteMissing(key, "expected \(expected)")
            return nil
        }
        let url = node.resolve(path, of: key)
        guard let data = try? Data(contentsOf: url), data.count <= maximumPEMSize else {
            node.note(key, ConfigurationDiagnostics.unreadable(path, at: url))
            return nil
        }
        return (path, url, [UInt8](data))
    }
}
