package import Base
import Cryptography

/// A text that stands for one customer's subscription in `latest_receipt`, where no receipt of Apple's exists: in
/// forwarded version 1 notifications, and in the response to a signed transaction.
///
/// It is a bearer token of the same worth as a receipt: its bearer can read that customer's response. It does not
/// expire. Only servers with the same keys accept it, and it is never sent upstream.
///
/// The text is canonical padded base64 of these bytes:
///
/// ```
/// "rb1."  keyId  bundleId  environment  originalTransactionId  issuedAt  mac
/// ```
///
/// Each of the five fields is a length byte and that many bytes. `issuedAt` has eight: milliseconds since 1970, most
/// significant byte first. `mac` is the 32 bytes of HMAC-SHA256 over everything before it.
package struct BridgeHandle: Sendable, Hashable {
    /// Maximum length of the text in characters.
    package static let maximumTextSize = 512

    package let bundleId: BundleIdentifier
    package let environment: AppStoreEnvironment
    package let originalTransactionId: TransactionIdentifier
    /// A handle that was issued before its customer was erased is refused.
    package let issuedAt: Timestamp

    package init(
        bundleId: BundleIdentifier, environment: AppStoreEnvironment, originalTransactionId: TransactionIdentifier,
        issuedAt: Timestamp
    ) {
        self.bundleId = bundleId
        self.environment = environment
        self.originalTransactionId = originalTransactionId
        self.issuedAt = issuedAt
    }

    /// The first bytes of every handle, of this version.
    static let prefix: [UInt8] = Array("rb1.".utf8)
    /// The same in base64: the first three bytes and six bits of the fourth.
    private static let prefixText: [UInt8] = Array("cmIxL".utf8)

    /// Returns whether a text claims to be a handle. It may be damaged or signed with an unknown key.
    package static func isClaimed(by text: borrowing Span<UInt8>) -> Bool {
        guard text.count >= prefixText.count else { return false }
        for (index, byte) in prefixText.enumerated() where text[index] != byte { return false }
        return true
    }
}

/// The reason why a handle is refused.
package enum BridgeHandleError: String, Error, Sendable, Hashable {
    /// The text is too long, not canonical base64, or its fields cannot be read.
    case malformed
    /// No key of this server has the id that the handle names.
    case unknownKey
    /// The authentication code is false: the handle was changed, or it was not issued with this key.
    case notAuthentic
}

/// The keys that sign and verify bridge handles. The first signs, all verify, so that a key can be replaced: add the
/// new one in front, and remove the old one when its handles are no longer presented.
package struct BridgeHandleKeys: Sendable {
    /// One key: 16 bytes or more, and the id that handles name it by.
    package struct Key: Sendable, Hashable {
        /// Minimum size in bytes.
        static let minimumSize = 16
        /// The first eight bytes of the SHA-256 of a label and the key, which do not reveal it.
        package let id: [UInt8]
        let bytes: Redacted<[UInt8]>

        /// Returns `nil` if there are fewer than ``minimumSize`` bytes.
        package init?(_ bytes: [UInt8]) {
            guard bytes.count >= Self.minimumSize else { return nil }
            self.bytes = Redacted(bytes)
            id = Array(SHA.digest(Array("receipt-bridge handle key\0".utf8) + bytes, with: .sha256).prefix(8))
        }
    }

    private let keys: [Key]

    /// Returns `nil` without a key.
    package init?(_ keys: [Key]) {
        guard !keys.isEmpty else { return nil }
        self.keys = keys
    }

    /// Returns the text of a handle, signed with the first key.
    package func text(of handle: BridgeHandle) -> Redacted<String> {
        var bytes = BridgeHandle.prefix
        func append(_ field: some Collection<UInt8>) {
            bytes.append(UInt8(clamping: field.count))
            bytes.append(contentsOf: field)
        }
        append(keys[0].id)
        append(handle.bundleId.rawValue.utf8)
        append(handle.environment.rawValue.utf8)
        append(handle.originalTransactionId.rawValue.utf8)
        append((0..<8).reversed().map { UInt8(truncatingIfNeeded: handle.issuedAt.milliseconds >> (8 * $0)) })
        bytes += HMAC.sha256(bytes, key: keys[0].bytes.reveal())
        return Redacted(String(decoding: Base64Text.encode(bytes), as: UTF8.self))
    }

    /// Returns what an erasure leaves of an id: a digest for each key. They are different from every authentication
    /// code of a handle, whose message begins with its version.
    package func erasureDigests(
        of id: TransactionIdentifier, _ bundleId: BundleIdentifier, _ environment: AppStoreEnvironment
    ) -> [[UInt8]] {
        let message = ["erased", bundleId.rawValue, environment.rawValue, id.rawValue].joined(separator: "\0")
        return keys.map { HMAC.sha256(Array(message.utf8), key: $0.bytes.reveal()) }
    }

    /// Returns the handle in a text, after checking its authentication code. Before that only the key id is read.
    package func handle(in text: borrowing Span<UInt8>) throws(BridgeHandleError) -> BridgeHandle {
        guard text.count <= BridgeHandle.maximumTextSize, let bytes = Base64Text.decode(text, .standard),
            bytes.starts(with: BridgeHandle.prefix),
            bytes.count > BridgeHandle.prefix.count + Self.macSize
        else { throw .malformed }
        var fields = Fields(bytes: bytes[BridgeHandle.prefix.count..<bytes.count - Self.macSize])
        guard let keyId = fields.next() else { throw .malformed }
        guard let key = keys.first(where: { $0.id.elementsEqual(keyId) }) else { throw .unknownKey }
        let signed = Array(bytes.dropLast(Self.macSize))
        guard
            ConstantTime.equal(
                HMAC.sha256(signed, key: key.bytes.reveal()), Array(bytes.suffix(Self.macSize)))
        else { throw .notAuthentic }
        guard let bundleId = fields.text().flatMap(BundleIdentifier.init(rawValue:)),
            let environment = fields.text().flatMap(AppStoreEnvironment.init(rawValue:)),
            let id = fields.text().flatMap(TransactionIdentifier.init(rawValue:)),
            let issued = fields.next(), issued.count == 8, fields.isAtEnd
        else { throw .malformed }
        let milliseconds = Int64(bitPattern: issued.reduce(0) { $0 << 8 | UInt64($1) })
        return BridgeHandle(
            bundleId: bundleId, environment: environment, originalTransactionId: id,
            issuedAt: Timestamp(milliseconds: milliseconds))
    }

    private static let macSize = 32

    /// Reads length-prefixed fields.
    private struct Fields {
        var bytes: ArraySlice<UInt8>

        var isAtEnd: Bool { bytes.isEmpty }

        mutating func next() -> ArraySlice<UInt8>? {
            guard let length = bytes.popFirst(), bytes.count >= Int(length) else { return nil }
            defer { bytes = bytes.dropFirst(Int(length)) }
            return bytes.prefix(Int(length))
        }

        /// Returns the next field as text; `nil` if it is not UTF-8.
        mutating func text() -> String? {
            next().flatMap { String(validating: $0, as: UTF8.self) }
        }
    }
}
