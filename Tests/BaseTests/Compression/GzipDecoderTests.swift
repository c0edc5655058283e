import ReceiptBridgeBase
import Testing
import struct ReceiptBridgeTestSupport.Named

/// T20
@Suite("gzip data that arrives in parts")
struct GzipDecoderTests {
    enum Outcome: Equatable {
        case complete(String)
        case incomplete, damaged
        /// The output has its maximum size.
        case tooLarge
    }

    private static let text = #"{"status":0}"#
    private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3]
    private static let blocks: [UInt8] = [
        0xAB, 0x56, 0x2A, 0x2E, 0x49, 0x2C, 0x29, 0x2D, 0x56, 0xB2, 0x32, 0xA8, 0x05, 0,
    ]
    private static let check: [UInt8] = [0x30, 0x17, 0x02, 0x73]
    private static let length: [UInt8] = [12, 0, 0, 0]
    private static let trailer = check + length
    private static let member = header + blocks + trailer
    /// An extra field, a name, a comment and a check of the header.
    private static let longHeader: [UInt8] = [
        0x1F, 0x8B, 8, 0x1E, 0, 0, 0, 0, 2, 3, 5, 0, 0x41, 0x42, 1, 0, 7, 0x61, 0, 0x62, 0, 0xC3, 0x87,
    ]
    private static let empty = header + [3, 0] + [UInt8](repeating: 0, count: 8)
    /// A code with three symbols of one bit.
    private static let excessiveCode: [UInt8] = [0x05, 0, 0x92, 0]

    private static func flags(_ flags: UInt8) -> [UInt8] { [0x1F, 0x8B, 8, flags, 0, 0, 0, 0, 2, 3] }

    private static let cases: [(name: String, data: [UInt8], outcome: Outcome)] =
        [
            ("one member", member, .complete(text)), ("two members", member + member, .complete(text + text)),
            ("three, one of them empty", member + empty + member, .complete(text + text)),
            ("an empty member", empty, .complete("")), ("nothing", [], .incomplete),
            ("a stored block", header + [1, 12, 0, 0xF3, 0xFF] + Array(text.utf8) + trailer, .complete(text)),
            ("a stored block and another", header + [0, 0, 0, 0xFF, 0xFF] + blocks + trailer, .complete(text)),
            ("extra field, name, comment, check", longHeader + blocks + trailer, .complete(text)),
            ("a wrong check of the header", Array(longHeader.dropLast()) + [0] + blocks + trailer, .damaged),
            ("a wrong CRC", header + blocks + [0x31, 0x17, 0x02, 0x73] + length, .damaged),
            ("a wrong length", header + blocks + check + [13, 0, 0, 0], .damaged),
            ("a wrong high byte of the length", header + blocks + check + [12, 0, 0, 1], .damaged),
            ("a wrong length of the second member", member + header + blocks + check + [24, 0, 0, 0], .damaged),
            ("another method", [0x1F, 0x8B, 7] + Array(member.dropFirst(3)), .damaged),
            ("a reserved flag", flags(0x20) + blocks + trailer, .damaged),
            ("zlib data", [0x78, 0x9C] + blocks + [0, 0, 0, 0, 0, 0], .damaged),
            ("no compression", Array(text.utf8), .damaged),
            ("zeros after the end", member + [UInt8](repeating: 0, count: 10), .damaged),
            ("a byte after the end", member + [0], .incomplete),
            ("text after the end", member + Array("<html></html>".utf8), .damaged),
            ("a block of an unknown form", header + [7] + trailer, .damaged),
            ("a stored block with another complement", header + [1, 12, 0, 0xF2, 0xFF] + trailer, .damaged),
            ("a code with too many symbols", header + excessiveCode + trailer, .damaged),
            ("a copy of what is before the beginning", header + [0x03, 0x02, 0] + trailer, .damaged),
            ("a copy of the member before", member + header + [0x03, 0x02, 0] + trailer, .damaged),
        ] + (1...24).map { ("without the last \($0) bytes", Array(member.dropLast($0)), .incomplete) }

    private func decode(_ data: [UInt8], size: Int, limit: Int = 1_000) -> Outcome {
        var (decoder, output) = (GzipDecoder(), [UInt8]())
        for start in stride(from: 0, to: data.count, by: size) {
            data[start..<min(start + size, data.count)].withUnsafeBytes { decoder.append($0) }
            switch decoder.decode(into: &output, limit: limit) {
            case .needsInput: continue
            case .needsRoom: return output.count == limit ? .tooLarge : .damaged
            case .damaged: return .damaged
            }
        }
        return decoder.isComplete ? .complete(String(decoding: output, as: UTF8.self)) : .incomplete
    }

    @Test(
        "What is not complete or not undamaged is told from what is, in parts of any size",
        arguments: Named.list(cases) { $0.name })
    func outcome(row: Named<(name: String, data: [UInt8], outcome: Outcome)>) {
        for size in [1, 2, 3, 7, 1_000] { #expect(decode(row.value.data, size: size) == row.value.outcome, "\(size)") }
    }

    @Test("The output stops at its limit, and what has exactly that size is complete")
    func limit() {
        for size in [1, 1_000] {
            #expect(decode(Self.member, size: size, limit: 12) == .complete(Self.text))
            for limit in 0..<12 { #expect(decode(Self.member, size: size, limit: limit) == .tooLarge) }
            #expect(decode(Self.member + Self.empty, size: size, limit: 12) == .complete(Self.text))
            #expect(decode(Self.member + Self.member, size: size, limit: 12) == .tooLarge)
        }
    }

    @Test("An extra field and a name may be long")
    func longHeaders() {
        let extra = Self.flags(4) + [0xFF, 0xFF] + [UInt8](repeating: 1, count: 65_535)
        let name = Self.flags(8) + [UInt8](repeating: 1, count: 100_000) + [0]
        for header in [extra, name] {
            #expect(decode(header + Self.blocks + Self.trailer, size: 4_096) == .complete(Self.text))
            #expect(decode(header, size: 4_096) == .incomplete)
        }
    }
}
