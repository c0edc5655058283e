import JSONReading
package import ReceiptDecoding
package import StoreTypes

/// The body of a verifyReceipt request, taken apart the way Apple's endpoint does: JSON whatever the content type says,
/// the last of a repeated key counts, unknown keys do not matter.
///
/// ```
/// { "receipt-data": base64, "password": text?, "exclude-old-transactions": bool? }
/// ```
/// https://developer.apple.com/documentation/appstorereceipts/requestbody
package struct VerifyReceiptRequest: Sendable {
    /// Why a body is answered with 21002.
    package enum Failure: String, Error, Sendable, Hashable {
        case notJSON
        /// More than ``maximumKeys``.
        case tooManyKeys
        case receiptMissing
        case receiptNotText
        case receiptEmpty
    }

    /// Keys at the top level, repetitions included; clients send three.
    package static let maximumKeys = 256

    package enum Password: Sendable, Hashable {
        /// Missing, `null` or empty.
        case absent
        case text(SharedSecret)
        /// A number, an object: present, and certainly wrong.
        case notText
    }

    /// The base64 text of the receipt, escapes undone.
    package private(set) var receiptText: Redacted<[UInt8]>
    package let password: Password
    package let excludesOldTransactions: Bool
    private let body: Redacted<[UInt8]>
    /// One per key, the last of each.
    private let members: [JSONScanner.Member]
    /// Two readers could understand the body differently: a key repeats, or is spelled with escapes.
    private let isAmbiguous: Bool
    /// ``receiptText`` is not what the body says: a mangled receipt was mended.
    private let isMended: Bool

    /// - Parameter profile: whether a mangled receipt is mended before anyone looks at it, and a form is read as the JSON that
    ///   was meant.
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
        let found = try Self.members(of: bytes, from: start)
        guard Self.isUnicode(body) else { throw .notJSON }
        let members = Self.lastOfEach(found, in: bytes)
        func value(_ key: StaticString) -> JSONScanner.Value? {
            members.last { $0.name.matches(key, in: bytes) }?.value
        }
        self.body = Redacted(body)
        self.members = members
        isAmbiguous = start > 0 || members.count < found.count || members.contains(where: \.name.isEscaped)
        let (text, isMended) = try Self.receiptText(value("receipt-data"), in: bytes, profile: profile)
        receiptText = Redacted(text)
        self.isMended = isMended
        password = Self.password(value("password"), in: bytes)
        excludesOldTransactions = Self.isTrue(value("exclude-old-transactions"), in: bytes)
    }

    /// Whether the receipt's text is digits of base64, padding and white space: what Apple may be asked about. To be
    /// tried where decoding failed; what decoded is base64.
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

    /// Frees the text's memory, once it was read: what is forwarded is in the body, unless the receipt was mended.
    mutating func dropText() {
        if !isMended { receiptText = Redacted([]) }
    }

    /// What goes to Apple: the body as it came, unless a password takes the client's place, the receipt was mended or
    /// the body is ambiguous; then the same members written anew, each once.
    package func forwardedBody(password replacement: SharedSecret?) -> [UInt8] {
        let body = body.reveal()
        guard replacement != nil || isAmbiguous || isMended else { return body }
        var written: [UInt8] = []
        written.reserveCapacity(body.count + 64)
        func write(_ key: [UInt8], _ value: ArraySlice<UInt8>) {
            written.append(UInt8(ascii: written.isEmpty ? "{" : ","))
            written += [UInt8(ascii: "\"")] + key + [UInt8(ascii: "\""), UInt8(ascii: ":")]
            written += value
        }
        for member in members {
            let name = member.name.unescaped(in: body.span)
            if replacement != nil, name.elementsEqual("password".utf8) { continue }
            if isMended, name.elementsEqual("receipt-data".utf8) {
                write(name, Self.quoted(receiptText.reveal()))
            } else {
                write(member.name.isEscaped ? Self.escaped(name) : name, body[member.value.whole])
            }
        }
        if let replacement {
            write(Array("password".utf8), Self.quoted(Self.escaped(Array(replacement.reveal().utf8))))
        }
        return written + [UInt8(ascii: "}")]
    }
}

extension VerifyReceiptRequest {
    /// In order, repetitions included. Keys above the limit are counted and not stored.
    private static func members(
        of bytes: Span<UInt8>, from start: Int
    ) throws(Failure) -> [JSONScanner.Member] {
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
    ) throws(Failure) -> (text: [UInt8], isMended: Bool) {
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

    private static func isUnicode(_ body: [UInt8]) -> Bool {
        var union: UInt8 = 0
        for byte in body { union |= byte }
        return union < 0x80 || String(validating: body, as: UTF8.self) != nil
    }

    private static func lastOfEach(
        _ members: [JSONScanner.Member], in bytes: Span<UInt8>
    ) -> [JSONScanner.Member] {
        var positions: [[UInt8]: Int] = [:]
        for (position, member) in members.enumerated() { positions[member.name.unescaped(in: bytes)] = position }
        guard positions.count < members.count else { return members }
        return positions.values.sorted().map { members[$0] }
    }

    private static func quoted(_ text: [UInt8]) -> ArraySlice<UInt8> {
        ([UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")])[...]
    }

    /// Quotes, backslashes and control bytes escaped, the rest as it is.
    private static func escaped(_ text: [UInt8]) -> [UInt8] {
        var written: [UInt8] = []
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): written += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                written += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: written.append(byte)
            }
        }
        return written
    }
}
