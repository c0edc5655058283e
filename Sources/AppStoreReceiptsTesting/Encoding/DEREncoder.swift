package import ReceiptBridgeBase
import Foundation
import ReceiptBridgeCryptography

/// Encodes ASN.1 values in DER. Every function returns one complete tag-length-value.
///
/// It has only what receipts, certificates and PKCS#7 need, and it shares no code with the decoders, because a
/// mistake in shared code would cancel itself out in tests.
package enum DEREncoder {
    /// Encodes a value with any tag.
    package static func value(tag: UInt8, _ content: [UInt8]) -> [UInt8] { value(tag: tag, parts: [content]) }

    /// Encodes a value whose content is the concatenation of `parts`.
    package static func value(tag: UInt8, parts: [[UInt8]]) -> [UInt8] {
        var count = 0
        for part in parts { count += part.count }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 10)
        bytes.append(tag)
        appendLength(count, to: &bytes)
        for part in parts { bytes.append(contentsOf: part) }
        return bytes
    }

    package static func sequence(_ elements: [UInt8]...) -> [UInt8] { value(tag: 0x30, parts: elements) }

    package static func sequence(_ elements: [[UInt8]]) -> [UInt8] { value(tag: 0x30, parts: elements) }

    /// Encodes a SET OF. DER requires the elements in ascending order of their encodings; `sorted: false` violates
    /// that.
    package static func set(_ elements: [[UInt8]], sorted: Bool = true) -> [UInt8] {
        value(tag: 0x31, parts: sorted ? elements.sorted(by: precedes) : elements)
    }

    /// Returns whether `left` comes first in a SET OF.
    static func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        let common = min(left.count, right.count)
        let difference = left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                guard let left = left.baseAddress, let right = right.baseAddress else { return Int32(0) }
                return memcmp(left, right, common)
            }
        }
        return difference != 0 ? difference < 0 : left.count < right.count
    }

    /// Encodes an INTEGER in two's complement with as few bytes as possible.
    package static func integer(_ number: Int64) -> [UInt8] {
        var width = 1
        while width < 8, number >> (width * 8 - 1) != 0, number >> (width * 8 - 1) != -1 { width += 1 }
        var bytes: [UInt8] = [0x02, UInt8(width)]
        for byteIndex in stride(from: width - 1, through: 0, by: -1) {
            bytes.append(UInt8(truncatingIfNeeded: number >> (byteIndex * 8)))
        }
        return bytes
    }

    /// Encodes a non-negative INTEGER of any size from its big-endian bytes.
    package static func integer(magnitude: [UInt8]) -> [UInt8] {
        let digits = Array(magnitude.drop { $0 == 0 })
        guard let first = digits.first else { return integer(0) }
        return value(tag: 0x02, first < 0x80 ? digits : [0] + digits)
    }

    package static func boolean(_ flag: Bool) -> [UInt8] { value(tag: 0x01, [flag ? 0xFF : 0]) }

    package static func octetString(_ bytes: [UInt8]) -> [UInt8] { value(tag: 0x04, bytes) }

    /// Encodes a BIT STRING. `unusedBits` is the number of unused bits at its end.
    package static func bitString(_ bytes: [UInt8], unusedBits: UInt8 = 0) -> [UInt8] {
        value(tag: 0x03, [unusedBits] + bytes)
    }

    package static let null: [UInt8] = [0x05, 0x00]

    package static func utf8String(_ text: String) -> [UInt8] { value(tag: 0x0C, Array(text.utf8)) }

    static func printableString(_ text: String) -> [UInt8] { value(tag: 0x13, Array(text.utf8)) }

    package static func ia5String(_ text: String) -> [UInt8] { value(tag: 0x16, Array(text.utf8)) }

    /// Encodes `[number] EXPLICIT`, or `[number] IMPLICIT` for a constructed type.
    package static func context(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        value(tag: 0xA0 | number, content)
    }

    /// Encodes `[number] IMPLICIT` for a primitive type.
    package static func primitiveContext(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        value(tag: 0x80 | number, content)
    }

    /// Encodes an OBJECT IDENTIFIER from its dotted form, for example `1.2.840.113549.1.7.2`. Parts that are not
    /// numbers count as 0.
    package static func objectIdentifier(_ dotted: String) -> [UInt8] {
        let parts = dotted.split(separator: ".").map { UInt64($0) ?? 0 }
        guard parts.count >= 2 else { return value(tag: 0x06, []) }
        let content = ([parts[0] * 40 + parts[1]] + parts[2...]).flatMap(base128)
        return value(tag: 0x06, content)
    }

    /// Encodes in groups of 7 bits, most significant first; all but the last have the high bit set.
    private static func base128(_ number: UInt64) -> [UInt8] {
        var digits = [UInt8(number & 0x7F)]
        var rest = number >> 7
        while rest > 0 {
            digits.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return digits.reversed()
    }

    /// Appends a length in the short form below 128 and in the long form otherwise.
    private static func appendLength(_ count: Int, to bytes: inout [UInt8]) {
        guard count >= 0x80 else { return bytes.append(UInt8(count)) }
        var width = 1
        while width < 8, count >> (width * 8) != 0 { width += 1 }
        bytes.append(0x80 | UInt8(width))
        for byteIndex in stride(from: width - 1, through: 0, by: -1) {
            bytes.append(UInt8(truncatingIfNeeded: count >> (byteIndex * 8)))
        }
    }
}

extension DEREncoder {
    /// Encodes UTCTime until 2049 and GeneralizedTime from 2050 on, as RFC 5280 §4.1.2.5 requires for certificates.
    package static func time(_ instant: Timestamp) -> [UInt8] {
        let date = CivilDate(instant)
        let rest = [date.month, date.day, date.hour, date.minute, date.second].map { twoDigits($0) }.joined() + "Z"
        if (1950..<2050).contains(date.year) {
            return value(tag: 0x17, Array((twoDigits(date.year % 100) + rest).utf8))
        }
        let year = twoDigits(date.year / 100) + twoDigits(date.year % 100)
        return value(tag: 0x18, Array((year + rest).utf8))
    }
}

/// Returns two digits, for example `07` for 7.
func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

/// Object identifiers in receipts, certificates and PKCS#7, in dotted form.
package enum ObjectIdentifiers {
    /// Marker of a leaf that signs App Receipts, transactionReceipts since version 3, and JWS.
    package static let receiptSigner = "1.2.840.113635.100.6.11.1"
    /// Marker of the Worldwide Developer Relations intermediates.
    package static let developerRelations = "1.2.840.113635.100.6.2.1"
    /// Marker of a leaf that signs version 2 transactionReceipts.
    package static let purchaseSigner = "1.2.840.113635.100.6.5.1"
    /// Marker of the iTunes Store intermediate.
    package static let iTunesStore = "1.2.840.113635.100.6.2.2"
    /// Marker of an iOS development certificate, which any developer gets from Apple. It must not sign receipts.
    package static let developerCertificate = "1.2.840.113635.100.6.1.2"

    static let data = "1.2.840.113549.1.7.1"
    package static let signedData = "1.2.840.113549.1.7.2"
    static let rsaEncryption = "1.2.840.113549.1.1.1"
    static let subjectKeyIdentifier = "2.5.29.14"
    static let keyUsage = "2.5.29.15"
    static let basicConstraints = "2.5.29.19"
    static let authorityKeyIdentifier = "2.5.29.35"
}

/// Encodings of `AlgorithmIdentifier ::= SEQUENCE { algorithm OBJECT IDENTIFIER, parameters ANY OPTIONAL }`.
enum AlgorithmIdentifier {
    static func digest(_ algorithm: DigestAlgorithm) -> [UInt8] {
        let identifier =
            switch algorithm {
            case .sha1: "1.3.14.3.2.26"
            case .sha256: "2.16.840.1.101.3.4.2.1"
            case .sha384: "2.16.840.1.101.3.4.2.2"
            }
        return DEREncoder.sequence(DEREncoder.objectIdentifier(identifier), DEREncoder.null)
    }

    /// Encodes a signature algorithm: RSA with NULL as parameters, ECDSA without parameters (RFC 5758).
    static func signature(_ algorithm: DigestAlgorithm, isRSA: Bool) -> [UInt8] {
        let identifier =
            switch (algorithm, isRSA) {
            case (.sha1, true): "1.2.840.113549.1.1.5"
            case (.sha256, true): "1.2.840.113549.1.1.11"
            case (.sha384, true): "1.2.840.113549.1.1.12"
            case (.sha1, false): "1.2.840.10045.4.1"
            case (.sha256, false): "1.2.840.10045.4.3.2"
            case (.sha384, false): "1.2.840.10045.4.3.3"
            }
        let oid = DEREncoder.objectIdentifier(identifier)
        return isRSA ? DEREncoder.sequence(oid, DEREncoder.null) : DEREncoder.sequence(oid)
    }

    /// The signature algorithm in Apple's receipts, which names only the key's algorithm, not the digest.
    static let rsaEncryption = DEREncoder.sequence(
        DEREncoder.objectIdentifier(ObjectIdentifiers.rsaEncryption), DEREncoder.null)
}
