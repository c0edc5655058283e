package import ReceiptBridgeBase
package import ReceiptBridgeCryptography

/// Encodes iOS 6 transactionReceipts: an old-style property list that contains a signed one.
///
/// `signature` holds version byte ‖ RSA signature ‖ certificate length (4 bytes, big-endian) ‖ leaf certificate. The
/// signature covers version byte ‖ purchase-info, with SHA-1 in versions 2 and 3 and SHA-256 in version 4.
/// `environment`, `pod` and `signing-status` are not signed.
package struct TransactionReceiptEncoder: Sendable {
    /// A line of a property list.
    package struct Entry: Sendable, Hashable {
        package var key: String
        package var value: String

        package init(_ key: String, _ value: String) {
            self.key = key
            self.value = value
        }
    }

    /// The form of the receipt, including deviations from the genuine form.
    package struct Options: Sendable {
        /// 2 for RSA-1024, until 2016; 3 for RSA-2048, until 2023; 4 for RSA-2048 and SHA-256, since then.
        package var version: UInt8
        /// Value of the unsigned line `environment`, or `nil` to omit it, as in production.
        package var environmentLine: String?
        /// `100` in the sandbox, another number in production.
        package var pod = "100"
        /// Writes `{"signature" = "…"; …}` on one line, as clients do that serialize the list again.
        package var oneLine = false
        /// Version byte in `signature` that replaces the signed one.
        package var writtenVersion: UInt8?
        /// Certificate length that replaces the correct one.
        package var writtenCertificateLength: UInt32?
        /// Purchase-info that replaces the signed one.
        package var swappedPurchaseInfo: [UInt8]?

        package init(version: UInt8 = 4, environmentLine: String? = nil, pod: String = "100") {
            (self.version, self.environmentLine, self.pod) = (version, environmentLine, pod)
        }
    }

    /// The purchase signer for version 2, the receipt signer for the later ones.
    package let signer: ReceiptSigner
    package var options: Options

    package init(signer: ReceiptSigner, options: Options) {
        self.signer = signer
        self.options = options
    }

    /// Returns the bytes of the receipt. Clients send them as base64.
    package func encode(purchaseInfo entries: [Entry]) throws(CryptographyError) -> [UInt8] {
        let purchaseInfo = Self.list(entries)
        let signature = try signer.leaf.key.signature(
            over: [options.version] + purchaseInfo, digest: options.version < 4 ? .sha1 : .sha256)
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

    /// Writes a property list: `{`, a line for each entry, and `}` without a line feed after it.
    package static func list(_ entries: [Entry], oneLine: Bool = false) -> [UInt8] {
        let lines = entries.map { "\"\($0.key)\" = \"\(escaped($0.value))\";" }
        let text = oneLine ? "{\(lines.joined(separator: " "))}" : "{\n" + lines.map { "\t\($0)\n" }.joined() + "}"
        return Array(text.utf8)
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}

extension TestPKI {
    /// Returns the encoder for transactionReceipts of a version, with its signer and its lines `pod` and `environment`.
    package func transactionEncoder(_ version: UInt8, _ environment: AppStoreEnvironment) -> TransactionReceiptEncoder {
        let isSandbox = environment == .sandbox
        return TransactionReceiptEncoder(
            signer: version == 2 ? purchaseSigner : receiptSigner,
            options: .init(
                version: version, environmentLine: isSandbox ? "Sandbox" : nil, pod: isSandbox ? "100" : "43"))
    }
}
