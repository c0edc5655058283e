import Cryptography
package import Foundation

/// Certificates as they lie on disk.
package enum CertificateLoader {
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

    /// What holds certificates in a folder, by its ending: cer, crt, der, pem; a file itself. Nil where neither can be read.
    package static func files(at url: URL) -> [URL]? {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else { return nil }
        guard isFolder.boolValue else { return [url] }
        // Of a link to a folder Foundation lists nothing.
        let folder = url.resolvingSymlinksInPath()
        return try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { ["cer", "crt", "der", "pem"].contains($0.pathExtension) }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
    }

    /// The certificates of a folder, or the one of a file.
    ///
    /// - Parameter name: what the place is called where it is named; nil for its path.
    /// - Throws: ``ConfigurationError`` with every file that cannot be used, and for a folder that holds none.
    package static func read(_ url: URL, named name: String? = nil) throws(ConfigurationError) -> [[UInt8]] {
        let name = name ?? url.path
        guard let files = files(at: url) else { throw ConfigurationError(["cannot read \(name)"]) }
        guard !files.isEmpty else { throw ConfigurationError(["no certificate in \(name)"]) }
        var certificates: [[UInt8]] = []
        var findings: [String] = []
        for file in files {
            let place = file == url ? name : "\(name.hasSuffix("/") ? name : name + "/")\(file.lastPathComponent)"
            guard let data = try? Data(contentsOf: file) else {
                findings.append("cannot read \(place)")
                continue
            }
            let encoding = der(of: data)
            do throws(CryptographyError) {
                _ = try Certificate(der: encoding.span)
                certificates.append(encoding)
            } catch {
                findings.append("\(place) cannot be used: \(error.reason)")
            }
        }
        guard findings.isEmpty else { throw ConfigurationError(findings) }
        return certificates
    }
}

extension ProxyConfiguration {
    /// Tells the certificates that are named beside Apple's from others, in whatever order they are.
    package var trustDigest: String {
        let all = [trustedRoots, intermediates].map {
            $0.map { SHA.hex($0, with: .sha256) }.sorted().joined(separator: " ")
        }
        return SHA.hex(Array(all.joined(separator: "\n").utf8), with: .sha256)
    }

    /// Trusts the certificates of a folder, or the one of a file: those that vouch for themselves as roots, the others
    /// only as links to a root.
    ///
    /// - Throws: as ``CertificateLoader/read(_:named:)`` does; then none of them is trusted.
    package mutating func trust(certificatesIn url: URL, named name: String? = nil) throws(ConfigurationError) {
        for encoding in try CertificateLoader.read(url, named: name) {
            if (try? Certificate(der: encoding.span))?.isSelfIssued == true {
                trustedRoots.append(encoding)
            } else {
                intermediates.append(encoding)
            }
        }
    }
}
