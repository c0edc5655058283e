package import Cryptography

/// Writes iOS 6 transactionReceipts: an old-style property list around a signed one.
///
/// `signature` holds version byte ‖ RSA signature ‖ certificate length (4 bytes, big-endian) ‖ leaf certificate; signed
/// is version byte ‖ purchase-info, with SHA-1 in both versions. `environment`, `pod` and `signing-status` stand outside
/// the signature.
package struct TransactionReceiptEncoder: Sendable {
    /// One line of a list.
    package struct Entry: Sendable, Hashable {
        package var key: String
        package var value: String

        package init(_ key: String, _ value: String) {
            self.key = key
            self.value = value
        }
    }

    /// How the receipt is written, and where it departs from the genuine layout.
    package struct Options: Sendable {
        /// 2: RSA-1024 until 2016, 3: RSA-2048 since.
        package var version: UInt8 = 3
        /// The unsigned line; nil, as in production, leaves it out.
        package var environmentLine: String?
        /// `100` in sandbox, another number in production.
        package var pod = "100"
        /// `{"signature" = "…"; …}` on one line, as clients that write the list anew do.
        package var oneLine = false
        /// Another version byte in the signature's blob than the one that was signed.
        package var writtenVersion: UInt8?
        /// Another certificate length than the true one.
        package var writtenCertificateLength: UInt32?
        /// What the list holds instead of the signed purchase-info.
        package var swappedPurchaseInfo: [UInt8]?

        package init(version: UInt8 = 3, environmentLine: String? = nil, pod: String = "100") {
            self.version = version
            self.environmentLine = environmentLine
            self.pod = pod
        }
    }

    /// The purchase signer for version 2, the receipt signer for version 3.
    package let signer: ReceiptSigner
    package var options: Options

    package init(signer: ReceiptSigner, options: Options) {
        self.signer = signer
        self.options = options
    }

    /// The bytes of the receipt; clients send them in base64.
    package func encode(purchaseInfo entries: [Entry]) throws(CryptographyError) -> [UInt8] {
        let purchaseInfo = Self.list(entries)
        let signature = try signer.leaf.key.signature(over: [options.version] + purchaseInfo, digest: .sha1)
        let certificate = signer.leaf.certificate
        let length = options.writtenCertificateLength ?? UInt32(certificate.count)
        let blob =
            [options.writtenVersion ?? options.version] + signature
            + withUnsafeBytes(of: length.bigEndian) { Array($0) } + certificate
        var outer = [
            Entry("signature", Base64.encode(blob)),
            Entry("purchase-info", Base64.encode(options.swappedPurchaseInfo ?? purchaseInfo)),
        ]
        if let environment = options.environmentLine { outer.append(Entry("environment", environment)) }
        outer += [Entry("pod", options.pod), Entry("signing-status", "0")]
        return Self.list(outer, oneLine: options.oneLine)
    }

    /// `{`, a line for each entry, `}` without a line feed behind it.
    package static func list(_ entries: [Entry], oneLine: Bool = false) -> [UInt8] {
        let lines = entries.map { "\"\($0.key)\" = \"\(escaped($0.value))\";" }
        let text = oneLine ? "{\(lines.joined(separator: " "))}" : "{\n" + lines.map { "\t\($0)\n" }.joined() + "}"
        return Array(text.utf8)
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}
