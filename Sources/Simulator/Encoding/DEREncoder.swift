/// Writes DER: every function gives one complete tag-length-value.
///
/// Only what receipts, certificates and PKCS#7 need. It shares nothing with the decoders, so that a mistake in one is not
/// a mistake in both.
package enum DEREncoder {
    package static func value(tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(content.count + 6)
        bytes.append(tag)
        bytes += length(content.count)
        bytes += content
        return bytes
    }

    package static func sequence(_ elements: [UInt8]...) -> [UInt8] { value(tag: 0x30, Array(elements.joined())) }

    package static func sequence(_ elements: [[UInt8]]) -> [UInt8] { value(tag: 0x30, Array(elements.joined())) }

    /// A SET OF: DER wants the elements in ascending order of their encodings.
    package static func set(_ elements: [[UInt8]], sorted: Bool = true) -> [UInt8] {
        let ordered = sorted ? elements.sorted { $0.lexicographicallyPrecedes($1) } : elements
        return value(tag: 0x31, Array(ordered.joined()))
    }

    /// Two's complement, as few bytes as possible.
    package static func integer(_ number: Int64) -> [UInt8] {
        var bytes = withUnsafeBytes(of: number.bigEndian) { Array($0) }
        while bytes.count > 1, (bytes[0] == 0 && bytes[1] < 0x80) || (bytes[0] == 0xFF && bytes[1] >= 0x80) {
            bytes.removeFirst()
        }
        return value(tag: 0x02, bytes)
    }

    /// A positive INTEGER of any size, from its big-endian bytes.
    package static func integer(magnitude: [UInt8]) -> [UInt8] {
        let digits = Array(magnitude.drop { $0 == 0 })
        guard let first = digits.first else { return integer(0) }
        return value(tag: 0x02, first < 0x80 ? digits : [0] + digits)
    }

    package static func boolean(_ flag: Bool) -> [UInt8] { value(tag: 0x01, [flag ? 0xFF : 0]) }

    package static func octetString(_ bytes: [UInt8]) -> [UInt8] { value(tag: 0x04, bytes) }

    /// A BIT STRING of whole bytes, or with some bits at the end unused.
    package static func bitString(_ bytes: [UInt8], unusedBits: UInt8 = 0) -> [UInt8] {
        value(tag: 0x03, [unusedBits] + bytes)
    }

    package static let null: [UInt8] = [0x05, 0x00]

    package static func utf8String(_ text: String) -> [UInt8] { value(tag: 0x0C, Array(text.utf8)) }

    package static func printableString(_ text: String) -> [UInt8] { value(tag: 0x13, Array(text.utf8)) }

    package static func ia5String(_ text: String) -> [UInt8] { value(tag: 0x16, Array(text.utf8)) }

    /// `[number] EXPLICIT` or a constructed `[number] IMPLICIT`.
    package static func context(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        value(tag: 0xA0 | number, content)
    }

    /// A primitive `[number] IMPLICIT`.
    package static func primitiveContext(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        value(tag: 0x80 | number, content)
    }

    /// From dotted text; parts that are not numbers count as 0.
    package static func objectIdentifier(_ dotted: String) -> [UInt8] {
        let parts = dotted.split(separator: ".").map { UInt64($0) ?? 0 }
        guard parts.count >= 2 else { return value(tag: 0x06, []) }
        let content = ([parts[0] * 40 + parts[1]] + parts[2...]).flatMap(base128)
        return value(tag: 0x06, content)
    }

    private static func base128(_ number: UInt64) -> [UInt8] {
        var digits = [UInt8(number & 0x7F)]
        var rest = number >> 7
        while rest > 0 {
            digits.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return digits.reversed()
    }

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        let bytes = withUnsafeBytes(of: UInt64(count).bigEndian) { Array($0.drop { $0 == 0 }) }
        return [0x80 | UInt8(bytes.count)] + bytes
    }
}
