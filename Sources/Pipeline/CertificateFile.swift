import Cryptography
package import Foundation

/// Certificates as they lie on disk.
package enum CertificateFile {
    /// The DER of a file that holds DER or one PEM block.
    package static func der(of data: Data) -> [UInt8] {
        guard let text = String(data: data, encoding: .utf8), text.contains("-----BEGIN CERTIFICATE-----") else {
            return [UInt8](data)
        }
        let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let body = lines.drop { !$0.hasPrefix("-----BEGIN CERTIFICATE") }.dropFirst().prefix {
            !$0.hasPrefix("-----END")
        }
        return [UInt8](Data(base64Encoded: body.joined()) ?? Data())
    }

    /// The certificates of a folder, or the one of a file; files by their ending: cer, crt, der, pem.
    package static func read(_ url: URL) throws -> [[UInt8]] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: url.path])
        }
        let files =
            isFolder.boolValue
            ? try FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: nil)
                .filter { ["cer", "crt", "der", "pem"].contains($0.pathExtension) }
                .sorted { $0.lastPathComponent < $1.lastPathComponent }
            : [url]
        return try files.map { der(of: try Data(contentsOf: $0)) }
    }
}

extension Settings {
    /// Tells the certificates that are named beside Apple's from others, in whatever order they are.
    package var trustDigest: String {
        let all = [trustedRoots, intermediates].map {
            $0.map { SHA.hex($0, with: .sha256) }.sorted().joined(separator: " ")
        }
        return SHA.hex(Array(all.joined(separator: "\n").utf8), with: .sha256)
    }

    /// Trusts the certificates of a folder, or the one of a file: those that vouch for themselves as roots, the others
    /// only as links to a root.
    package mutating func trust(certificatesIn url: URL) throws {
        for encoding in try CertificateFile.read(url) {
            if try Certificate(der: encoding.span).isSelfIssued {
                trustedRoots.append(encoding)
            } else {
                intermediates.append(encoding)
            }
        }
    }
}
