package import ReceiptBridgeBase
package import ReceiptBridgeReceipts

/// The body of a verifyReceipt request, parsed as Apple's endpoint parses it: as JSON whatever the content type is. The
/// last of a repeated key counts, and unknown keys are ignored.
///
/// ```
/// { "receipt-data": base64, "password": text?, "exclude-old-transactions": bool? }
/// ```
///
/// https://developer.apple.com/documentation/appstorereceipts/requestbody
package struct VerifyReceiptRequest: Sendable {
    /// The reason why a body gets 21002. The raw values appear in the log.
    package enum Failure: String, Error, Sendable, Hashable {
        case notJSON
        /// More than ``maximumKeys``.
        case tooManyKeys
        case receiptMissing
        case receiptNotText
        case receiptEmpty
    }

    /// The maximum number of keys at the top level, including repeated ones. Clients send three.
    static let maximumKeys = 256

    package enum Password: Sendable, Hashable {
        /// Missing, `null` or empty.
        case absent
        case text(SharedSecret)
        /// For example a number or an object: present, and certainly wrong.
        case notText
    }

    /// The base64 text of the receipt, with JSON escapes decoded.
    package private(set) var receiptText: Redacted<[UInt8]>
    package let password: Password
    package let excludesOldTransactions: Bool
    /// Whether the body is little longer than the receipt. Whoever has an authentic receipt can write a longer one that
    /// makes Apple's endpoint fail.
    let isOrdinary: Bool
    private var body: Redacted<[UInt8]>
    private var members: [JSONScanner.Member]
    /// Whether two JSON parsers could read the body differently: a key is repeated or written with escapes, or there is
    /// a byte order mark. Apple must not read another receipt or password than the one that was checked here, so such a
    /// body is never forwarded as it is.
    private let isAmbiguous: Bool
    /// Whether ``body`` is what is sent to Apple, and no longer what was received.
    private var isForwardedBody = false
    /// Whether a mangled receipt was repaired, so that ``receiptText`` differs from the body.
    private let isRepaired: Bool

    /// - Parameter profile: with `tolerant`, a mangled receipt is repaired before it is decoded, and an HTML form is
    ///   converted to the JSON that was meant.
    package init(body: [UInt8], profile: ReceiptProfile = .apple) throws(Failure) {
        do throws(Failure) {
            try self.init(json: body, profile: profile)
        } catch {
            guard error == .notJSON, profile == .tolerant, let json = FormRequestParser.json(of: body) else {
                throw error
            }
            try self.init(json: json, profile: profile)
        }
    }

    private init(json body: [UInt8], profile: ReceiptProfile) throws(Failure) {
        let bytes = body.span
        let start = body.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let all = try Self.members(of: bytes, from: start)
        guard Self.isUnicode(body) else { throw .notJSON }
        let members = Self.lastOfEach(all, in: bytes)
        func value(_ key: StaticString) -> JSONScanner.Value? {
            members.last { $0.name.matches(key, in: bytes) }?.value
        }
        self.body = Redacted(body)
        self.members = members
        isAmbiguous = start > 0 || members.count < all.count || members.contains(where: \.name.isEscaped)
        let (text, isRepaired) = try Self.receiptText(value("receipt-data"), in: bytes, profile: profile)
        receiptText = Redacted(text)
        self.isRepaired = isRepaired
        // Other members are short; a receipt with JSON escapes is at most an eighth longer.
        isOrdinary = body.count <= text.count / 8 * 9 + 1_024
        password = Self.password(value("password"), in: bytes)
        excludesOldTransactions = Self.isTrue(value("exclude-old-transactions"), in: bytes)
    }

    /// Returns whether the text consists of base64 digits, padding and whitespace only, and so may be forwarded to
    /// Apple. Only worth checking if decoding failed, because a text that decoded is base64.
    package var hasBase64Text: Bool {
        var digits = 0
        for byte in receiptText.reveal() {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                digits += 1
            case UInt8(ascii: "="), 0x20, 0x09, 0x0A, 0x0D: break
            default: return false
            }
        }
        return digits > 0
    }

    /// The body, which is forwarded, still contains the text, unless the receipt was repaired.
    mutating func dropText() {
        if !isRepaired { receiptText = Redacted([]) }
    }

    /// Replaces the body by the one to send to Apple, so that only one of them is in memory while Apple is called.
    mutating func dropReceivedBody(password replacement: SharedSecret?) {
        body = Redacted(forwardedBody(password: replacement))
        members = []
        isForwardedBody = true
    }

    /// The body to send to Apple: the received bytes if possible. If the password is replaced, the receipt was repaired
    /// or the body is ambiguous, the same members are written again, each once.
    package func forwardedBody(password replacement: SharedSecret?) -> [UInt8] {
        let body = body.reveal()
        guard !isForwardedBody, replacement != nil || isAmbiguous || isRepaired else { return body }
        var writer = JSONWriter(reserving: body.count + 64)
        writer.beginObject()
        for member in members {
            let name = member.name.unescaped(in: body.span)
            if replacement != nil, name.elementsEqual("password".utf8) { continue }
            writer.key(utf8: name)
            if isRepaired, name.elementsEqual("receipt-data".utf8) {
                writer.value(utf8: receiptText.reveal())
            } else {
                writer.values(json: body[member.value.whole])
            }
        }
        if let replacement { writer.member("password", replacement.reveal()) }
        writer.endObject()
        return writer.finish()
    }
}

extension VerifyReceiptRequest {
    /// All members in order, including repeated keys. Members above the limit are counted, but not stored.
    private static func members(of bytes: Span<UInt8>, from start: Int) throws(Failure) -> [JSONScanner.Member] {
        var scanner = JSONScanner(at: start, valueDepth: JSONScanner.maximumDepth)
        var members: [JSONScanner.Member] = []
        var count = 0
        do throws(JSONStructureError) {
            try scanner.scanDocument(bytes) { member in
                count += 1
                if count <= maximumKeys { members.append(member) }
            }
        } catch {
            throw .notJSON
        }
        guard count <= maximumKeys else { throw .tooManyKeys }
        return members
    }

    private static func receiptText(
        _ value: JSONScanner.Value?, in bytes: Span<UInt8>, profile: ReceiptProfile
    ) throws(Failure) -> (text: [UInt8], isRepaired: Bool) {
        guard let value else { throw .receiptMissing }
        guard case .string(let string) = value else { throw .receiptNotText }
        let text = string.unescaped(in: bytes)
        guard !text.isEmpty else { throw .receiptEmpty }
        if profile == .tolerant, let repaired = ReceiptDecoder.repaired(text.span), repaired != text {
            return (repaired, true)
        }
        return (text, false)
    }

    private static func password(_ value: JSONScanner.Value?, in bytes: Span<UInt8>) -> Password {
        switch value {
        case .string(let string) where string.range.isEmpty: .absent
        case .string(let string): .text(SharedSecret(String(decoding: string.unescaped(in: bytes), as: UTF8.self)))
        case .scalar(let range) where bytes.holds("null", at: range): .absent
        case nil: .absent
        default: .notText
        }
    }

    /// Clients send `true`, `"true"` and `1`.
    private static func isTrue(_ value: JSONScanner.Value?, in bytes: Span<UInt8>) -> Bool {
        let range: Range<Int>
        switch value {
        case .string(let text): range = text.range
        case .scalar(let text): range = text
        default: return false
        }
        return bytes.holds("true", at: range) || bytes.holds("1", at: range)
    }

    /// Returns whether the body is valid UTF-8. Most bodies are ASCII, which one pass over the bytes confirms.
    private static func isUnicode(_ body: [UInt8]) -> Bool {
        var union: UInt8 = 0
        for byte in body { union |= byte }
        return union < 0x80 || String(validating: body, as: UTF8.self) != nil
    }

    /// Removes all but the last member of each key; the order stays.
    private static func lastOfEach(_ members: [JSONScanner.Member], in bytes: Span<UInt8>) -> [JSONScanner.Member] {
        guard !areDifferent(members.map(\.name), in: bytes) else { return members }
        var positions: [[UInt8]: Int] = [:]
        for (position, member) in members.enumerated() { positions[member.name.unescaped(in: bytes)] = position }
        guard positions.count < members.count else { return members }
        return positions.values.sorted().map { members[$0] }
    }
    /// Comparing the names of a usual request is quicker than hashing them.
    private static func areDifferent(_ names: [JSONString], in bytes: Span<UInt8>) -> Bool {
        guard names.count <= 8, !names.contains(where: \.isEscaped) else { return false }
        return bytes.withUnsafeBufferPointer { bytes in
            names.indices.allSatisfy { index in
                names[(index + 1)...].allSatisfy { !bytes[$0.range].elementsEqual(bytes[names[index].range]) }
            }
        }
    }
}
