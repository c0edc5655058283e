import ReceiptBridgeBase
package import Foundation

/// The binary form in which a JWS is stored: the header as a row id, payload and signature without base64. Each JWS
/// inside the payload is cut out and packed in the same way.
///
///     0x01, header (2 bytes), signature (64 bytes), number of parts (1 byte),
///     for each part its offset (4 bytes), its packed size (4 bytes) and the packed part; then the payload without parts
///
/// Integers are big-endian. For example, a JWS without parts takes 68 bytes and its payload.
package struct PackedJWS: Sendable, Hashable {
    /// A JWS that was cut out of a payload.
    package struct Part: Sendable, Hashable {
        /// Offset in the payload without parts at which it is inserted again.
        package let offset: Int
        package let text: PackedJWS
    }

    package let header: UInt16
    package let signature: [UInt8]
    /// In ascending order of offsets. Parts have no parts themselves.
    package let parts: [Part]
    package let payload: [UInt8]

    /// The first byte, which identifies this version of the format.
    private static let formatVersion: UInt8 = 1

    /// - Parameter inner: the JWS to cut out of the payload; ranges must not overlap.
    package init(_ text: JWSParts, header: UInt16, without inner: [(range: Range<Int>, text: PackedJWS)] = []) {
        self.header = header
        signature = text.signature
        var payload: [UInt8] = []
        payload.reserveCapacity(text.payload.count)
        var parts: [Part] = []
        var position = 0
        for (range, part) in inner.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
            payload += text.payload[position..<range.lowerBound]
            parts.append(Part(offset: payload.count, text: part))
            position = range.upperBound
        }
        payload += text.payload[position...]
        self.payload = payload
        self.parts = parts
    }

    // MARK: - Bytes

    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size)
        append(to: &bytes)
        return bytes
    }

    /// Number of bytes of ``encoded``.
    private var size: Int { parts.reduce(4 + signature.count + payload.count) { $0 + 8 + $1.text.size } }

    private func append(to bytes: inout [UInt8]) {
        bytes += [Self.formatVersion, UInt8(header >> 8), UInt8(truncatingIfNeeded: header)]
        bytes += signature
        bytes.append(UInt8(truncatingIfNeeded: parts.count))
        for part in parts {
            for integer in [part.offset, part.text.size] {
                withUnsafeBytes(of: UInt32(truncatingIfNeeded: integer).bigEndian) { bytes += $0 }
            }
            part.text.append(to: &bytes)
        }
        bytes += payload
    }

    /// `nil` for bytes that ``encoded`` never produces.
    package init?(_ bytes: Data) { self.init(bytes[...], mayHaveParts: true) }

    private init?(_ bytes: Data.SubSequence, mayHaveParts: Bool) {
        var rest = bytes
        guard rest.count >= 4 + JWSParts.signatureBytes, rest.popFirst() == Self.formatVersion,
            let high = rest.popFirst(),
            let low = rest.popFirst()
        else { return nil }
        header = UInt16(high) << 8 | UInt16(low)
        signature = Array(rest.prefix(JWSParts.signatureBytes))
        rest = rest.dropFirst(JWSParts.signatureBytes)
        guard let count = rest.popFirst(), count == 0 || mayHaveParts else { return nil }
        var parts: [Part] = []
        for _ in 0..<count {
            guard let offset = Self.readInteger(&rest), let size = Self.readInteger(&rest), size <= rest.count,
                offset >= parts.last?.offset ?? 0, let text = PackedJWS(rest.prefix(size), mayHaveParts: false)
            else { return nil }
            parts.append(Part(offset: offset, text: text))
            rest = rest.dropFirst(size)
        }
        guard parts.last?.offset ?? 0 <= rest.count else { return nil }
        self.parts = parts
        payload = Array(rest)
    }

    /// Reads a big-endian integer of four bytes; `nil` if there are fewer.
    private static func readInteger(_ rest: inout Data.SubSequence) -> Int? {
        guard rest.count >= 4 else { return nil }
        defer { rest = rest.dropFirst(4) }
        return rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    }

    // MARK: - Text

    /// Returns the original text, as UTF-8. `headers` returns a header in base64url by its row id.
    package func text(headers: (UInt16) throws -> [UInt8]) rethrows -> [UInt8] {
        var whole: [UInt8] = []
        var position = 0
        for part in parts {
            whole += payload[position..<part.offset]
            whole += try part.text.text(headers: headers)
            position = part.offset
        }
        whole += payload[position...]
        var text = try headers(header)
        text.reserveCapacity(
            text.count + 2 + Base64Text.urlSafeCount(of: whole.count) + Base64Text.urlSafeCount(of: signature.count))
        text.append(UInt8(ascii: "."))
        text += Base64Text.encodeURLSafe(whole)
        text.append(UInt8(ascii: "."))
        text += Base64Text.encodeURLSafe(signature)
        return text
    }
}

/// The decoded parts of a compact JWS, if encoding them again gives the same text byte for byte.
///
///     header "." BASE64URL(payload) "." BASE64URL(signature)
///
/// RFC 7515, 3.1.
package struct JWSParts: Sendable, Hashable {
    /// The header, still in base64url. There are only a few in years, although each contains the signer's
    /// certificates.
    package let header: [UInt8]
    package let payload: [UInt8]
    /// The `ES256` signature of ``signatureBytes`` bytes.
    package let signature: [UInt8]

    static let signatureBytes = 64
    private static let signatureCharacters = Base64Text.urlSafeCount(of: signatureBytes)

    /// `nil` if encoding the parts again would not give the same text. ``Base64Text`` accepts only the canonical
    /// base64url encoding of a value, and that is the one it writes. `payload` is the decoded payload, if there is one
    /// already.
    package init?(_ text: String, payload: [UInt8]? = nil) {
        var text = text
        let parts = text.withUTF8 { bytes -> (header: [UInt8], payload: [UInt8], signature: [UInt8])? in
            let end = bytes.count - Self.signatureCharacters
            guard let start = bytes.baseAddress, let dot = memchr(start, Int32(UInt8(ascii: ".")), bytes.count),
                case let first = UnsafeRawPointer(dot) - UnsafeRawPointer(start), first + 1 < end,
                bytes[end - 1] == UInt8(ascii: "."),
                let payload = payload ?? Self.decode(bytes[(first + 1)..<(end - 1)]),
                let signature = Self.decode(bytes[end...])
            else { return nil }
            return (Array(bytes[..<first]), payload, signature)
        }
        guard let parts else { return nil }
        (header, self.payload, signature) = parts
    }

    private static func decode(_ segment: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8]? {
        Base64Text.decode(UnsafeBufferPointer(rebasing: segment).span, .urlSafe)
    }
}
