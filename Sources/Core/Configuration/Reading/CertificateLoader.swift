import ReceiptBridgeBase
import ReceiptBridgeCryptography
package import Foundation

/// Reads certificates from files and directories.
package enum CertificateLoader {
    /// Returns the DER encoding in a file that holds DER or one PEM block.
    package static func der(of data: Data) -> [UInt8] {
        guard let text = String(data: data, encoding: .utf8), text.contains("-----BEGIN CERTIFICATE-----") else {
            return [UInt8](data)
        }
        let lines = text.trimmed.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let body = lines.drop { !$0.hasPrefix("-----BEGIN CERTIFICATE") }.dropFirst().prefix {
            !$0.hasPrefix("-----END")
        }
        return [UInt8](Data(base64Encoded: body.joined()) ?? Data())
    }

    /// Returns the certificate files of a directory, by extension: cer, crt, der, pem. For a file, the file itself.
    /// `nil` if the URL can be read as neither.
    package static func files(at url: URL) -> [URL]? {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else { return nil }
        guard isFolder.boolValue else { return [url] }
        // Foundation lists nothing for a symbolic link to a directory.
        let folder = url.resolvingSymlinksInPath()
        return try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { ["cer", "crt", "der", "pem"].contains($0.pathExtension) }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
    }

    private static func problem(of file: URL) -> String {
        do throws(SystemFailure) {
            _ = try FileDescriptor(reading: file.path)
            return "the file cannot be read to its end"
        } catch {
            return error.reason(for: file.path)
        }
    }

    /// Returns the certificates of a directory, or the one in a file, DER encoded.
    ///
    /// - Parameter name: the name of the file or directory in error messages; `nil` for its path.
    /// - Throws: ``ConfigurationError`` that lists every unusable file, or says that a folder holds no certificate.
    package static func read(_ url: URL, named name: String? = nil) throws(ConfigurationError) -> [[UInt8]] {
        let name = name ?? url.path
        guard let files = files(at: url) else {
            throw ConfigurationError(["cannot read \(url.path): \(problem(of: url))"])
        }
        guard !files.isEmpty else { throw ConfigurationError(["no certificate in \(name)"]) }
        var certificates: [[UInt8]] = []
        var findings: [String] = []
        for file in files {
            let path = file == url ? name : "\(name.hasSuffix("/") ? name : name + "/")\(file.lastPathComponent)"
            guard let data = try? Data(contentsOf: file) else {
                findings.append("cannot read \(file.path): \(problem(of: file))")
                continue
            }
            let encoding = der(of: data)
            do throws(CryptographyError) {
                _ = try Certificate(der: encoding.span)
                certificates.append(encoding)
            } catch {
                findings.append("\(path) cannot be used: \(error.reason)")
            }
        }
        guard findings.isEmpty else { throw ConfigurationError(findings) }
        return certificates
    }
}

extension ProxyConfiguration {
    /// A digest of the certificates that are trusted in addition to Apple's, independent of their order.
    package var trustDigest: String {
        let all = [trustedRoots, intermediates].map {
            $0.map { SHA.hex($0, with: .sha256) }.sorted().joined(separator: " ")
        }
        return SHA.hex(Array(all.joined(separator: "\n").utf8), with: .sha256)
    }

    /// Self-issued certificates are trusted as roots, all others only as intermediates.
    ///
    /// - Throws: the error of ``CertificateLoader/read(_:named:)``; then none of them is trusted.
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
