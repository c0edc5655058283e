import Foundation
import StoreTypes

/// A signed text as it is stored: a compact JWS without what is stored elsewhere already.
///
/// Its header is a number, and signed texts inside its payload may be taken out; where they were is kept.
///
///     0x01, header (2 bytes), signature (64), how many were taken out (1), where each was (4 each), payload
///
/// Numbers have their highest byte first.
struct PackedText: Sendable, Hashable {
    /// The first byte, which tells it from a ``StoredText/part(_:)``.
    static let mark: UInt8 = 1

    let header: UInt16
    let signature: [UInt8]
    /// Places in `payload`, ascending.
    let gaps: [Int]
    /// Without what was taken out.
    let payload: [UInt8]

    init(header: UInt16, signature: [UInt8], gaps: [Int] = [], payload: [UInt8]) {
        self.header = header
        self.signature = signature
        self.gaps = gaps
        self.payload = payload
    }

    /// - Parameter ranges: of the payload, ascending and apart from one another: what is taken out.
    init(_ text: CompactText, header: UInt16, without ranges: [Range<Int>] = []) {
        var payload: [UInt8] = []
        payload.reserveCapacity(text.payload.count)
        var gaps: [Int] = []
        var position = 0
        for range in ranges {
            payload += text.payload[position..<range.lowerBound]
            gaps.append(payload.count)
            position = range.upperBound
        }
        payload += text.payload[position...]
        self.init(header: header, signature: text.signature, gaps: gaps, payload: payload)
    }

    var bytes: Data {
        var bytes = Data(capacity: 4 + signature.count + 4 * gaps.count + payload.count)
        bytes.append(contentsOf: [Self.mark, UInt8(header >> 8), UInt8(truncatingIfNeeded: header)])
        bytes.append(contentsOf: signature)
        bytes.append(UInt8(truncatingIfNeeded: gaps.count))
        for gap in gaps {
            withUnsafeBytes(of: UInt32(truncatingIfNeeded: gap).bigEndian) { bytes.append(contentsOf: $0) }
        }
        bytes.append(contentsOf: payload)
        return bytes
    }

    /// Nil for what ``bytes`` never says.
    init?(_ bytes: Data) {
        var rest = bytes[...]
        guard rest.popFirst() == Self.mark, rest.count >= 3 + CompactText.signatureBytes,
            let high = rest.popFirst(), let low = rest.popFirst()
        else { return nil }
        header = UInt16(high) << 8 | UInt16(low)
        signature = Array(rest.prefix(CompactText.signatureBytes))
        rest = rest.dropFirst(CompactText.signatureBytes)
        guard let count = rest.popFirst(), rest.count >= 4 * Int(count) else { return nil }
        var gaps: [Int] = []
        for _ in 0..<count {
            gaps.append(rest.prefix(4).reduce(0) { $0 << 8 | Int($1) })
            rest = rest.dropFirst(4)
        }
        self.gaps = gaps
        payload = Array(rest)
        guard zip([0] + gaps, gaps + [payload.count]).allSatisfy({ $0 <= $1 }) else { return nil }
    }

    /// The text as it was.
    ///
    /// - Parameters:
    ///   - header: as it was spelled.
    ///   - parts: what was taken out, one for each gap.
    func text(header: [UInt8], parts: [[UInt8]]) -> [UInt8] {
        var whole = payload
        if !parts.isEmpty {
            whole = []
            whole.reserveCapacity(payload.count + parts.reduce(0) { $0 + $1.count })
            var position = 0
            for (gap, part) in zip(gaps, parts) {
                whole += payload[position..<gap]
                whole += part
                position = gap
            }
            whole += payload[position...]
        }
        var text: [UInt8] = []
        text.reserveCapacity(header.count + 2 + Base64Text.urlSafeCount(of: whole.count) + 86)
        text += header
        text.append(UInt8(ascii: "."))
        text += Base64Text.encodeURLSafe(whole)
        text.append(UInt8(ascii: "."))
        text += Base64Text.encodeURLSafe(signature)
        return text
    }
}
