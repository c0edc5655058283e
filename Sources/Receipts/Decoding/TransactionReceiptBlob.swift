import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// The parts of an iOS 6 transactionReceipt: the outer list, the signature, and the signed list.
///
/// The `signature` of the outer list contains, in base64:
/// ```
/// version (1 byte) ‖ RSA signature ‖ length (4 bytes, big-endian) ‖ certificate (DER)
/// ```
/// The signature is RSA PKCS#1 v1.5 over the version byte and the raw bytes of `purchase-info`:
///
/// | version | signature | digest | genuine receipts of |
/// |---|---|---|---|
/// | 2 | 128 bytes | SHA-1 | 2011 to 2015 |
/// | 3 | 256 bytes | SHA-1 | 2017 to 2019 |
/// | 4 | 256 bytes | SHA-256 | 2023 to 2025 |
///
/// Apple does not document this; it was verified with these genuine receipts.
struct TransactionReceiptBlob: Sendable {
    /// The decoded contents, authentic or not.
    let receipt: TransactionReceipt
    /// The parsed signature, or the reason why it cannot be read. The receipt can be inspected in either case.
    let signature: Result<Signature, ReceiptDecodingError>

    struct Signature: Sendable {
        /// The kind of signer, which depends on the version.
        let role: SignerRole
        /// The digest of the signature, which depends on the version.
        let digest: DigestAlgorithm
        /// The signed bytes: version ‖ purchase-info.
        let message: [UInt8]
        /// The RSA signature.
        let value: [UInt8]
        /// The signer's certificate in DER.
        let certificate: [UInt8]
    }

    /// Parses the outer list and the signed list. An unreadable signature is no error; see `signature`.
    init(_ bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) {
        let outer = try PropertyListText(bytes, at: "transactionReceipt")
        guard let encodedInfo = outer["purchase-info"] else {
            if outer["transaction-id"] != nil {
                throw ReceiptDecodingError(
                    .purchaseInfoOnly, at: "transactionReceipt", "only purchase-info, without its signature")
            }
            throw ReceiptDecodingError(
                outer["signature"] == nil ? .notAReceipt : .missingAttribute, at: "transactionReceipt",
                "no purchase-info")
        }
        guard let info = Base64Text.decode(encodedInfo.span, .receipt) else {
            throw ReceiptDecodingError(.notBase64, at: "purchase-info", "not base64")
        }
        let entries = try Self.entries(of: info)
        func text(_ key: String) -> String? { outer[key].flatMap { String(validating: $0, as: UTF8.self) } }
        receipt = TransactionReceipt(
            purchaseInfo: entries, claimedEnvironment: text("environment"), pod: text("pod"),
            signingStatus: text("signing-status"))
        signature = Self.signature(outer["signature"], over: info)
    }

    /// Reads the signed list. If its text is complete but not such a list, it has a structure that is not known.
    private static func entries(of info: [UInt8]) throws(ReceiptDecodingError) -> [TransactionReceipt.Entry] {
        do throws(ReceiptDecodingError) {
            let list = try PropertyListText(info.span, at: "purchase-info")
            var entries: [TransactionReceipt.Entry] = []
            entries.reserveCapacity(list.entries.count)
            for entry in list.entries {
                guard let value = entry.value.span.text(0..<entry.value.count) else {
                    throw ReceiptDecodingError(.malformed, at: "purchase-info", "text that is not valid UTF-8")
                }
                entries.append(TransactionReceipt.Entry(key: entry.key, value: value))
            }
            return entries
        } catch {
            throw error.code == .malformed ? error.ofSignedContent : error
        }
    }

    private static func signature(_ encoded: [UInt8]?, over info: [UInt8]) -> Result<Signature, ReceiptDecodingError> {
        do throws(ReceiptDecodingError) {
            guard let encoded, !encoded.isEmpty else {
                throw ReceiptDecodingError(.unsigned, at: "transactionReceipt", "no signature")
            }
            guard let blob = Base64Text.decode(encoded.span, .receipt) else {
                throw ReceiptDecodingError(.badSignature, at: "signature", "not base64")
            }
            return .success(try Signature(blob, over: info))
        } catch {
            return .failure(error)
        }
    }
}

extension TransactionReceiptBlob.Signature {
    /// A signature of an unknown version is at least as long as an ECDSA signature and a small certificate. A shorter
    /// value is a placeholder, which test fixtures contain.
    private static let minimumSize = 256

    /// Splits the `signature` value into its parts. All lengths must match exactly.
    fileprivate init(_ blob: [UInt8], over info: [UInt8]) throws(ReceiptDecodingError) {
        let length: Int
        switch blob.first {
        case 2: (role, digest, length) = (.purchaseReceipt, .sha1, 128)
        case 3: (role, digest, length) = (.storeReceipt, .sha1, 256)
        case 4: (role, digest, length) = (.storeReceipt, .sha256, 256)
        case let version? where blob.count >= Self.minimumSize:
            throw ReceiptDecodingError(
                .unsupportedVersion, at: "signature", "signature version \(version) is not supported; expected 2 to 4")
        default:
            throw ReceiptDecodingError(
                .badSignature, at: "signature", "\(blob.count) bytes are too short for a signature")
        }
        let certificateStart = 1 + length + 4
        guard blob.count > certificateStart else {
            throw ReceiptDecodingError(
                .badSignature, at: "signature", "\(blob.count) bytes are too short for a signature")
        }
        let declared = blob[1 + length..<certificateStart].reduce(0) { $0 << 8 | Int($1) }
        guard declared == blob.count - certificateStart else {
            throw ReceiptDecodingError(
                .badSignature, at: "signature", "the declared certificate length of \(declared) bytes does not match")
        }
        message = blob[0..<1] + info
        value = Array(blob[1..<1 + length])
        certificate = Array(blob[certificateStart...])
    }
}
