import ReceiptBridgeCryptography
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("BER decoding")
struct BERCursorTests {
    private func failure(_ bytes: [UInt8]) -> BERError.Code? {
        do throws(BERError) {
            var cursor = BERCursor(0..<bytes.count)
            _ = try cursor.next(in: bytes.span)
            return nil
        } catch {
            return error.code
        }
    }

    static let refused: [(name: String, bytes: [UInt8], code: BERError.Code)] = [
        ("an empty buffer", [], .truncated),
        ("a tag alone", [0x04], .truncated),
        ("a length without its content", [0x04, 0x01], .truncated),
        ("a length of one byte more than there is", [0x30, 0x03, 0x05, 0x00], .truncated),
        ("a long length cut off", [0x04, 0x82, 0x01], .truncated),
        ("a length of 2^31 - 1 in a short buffer", [0x04, 0x84, 0x7F, 0xFF, 0xFF, 0xFF, 0], .truncated),
        ("a length of 2^31", [0x04, 0x84, 0x80, 0, 0, 0, 0], .lengthTooLarge),
        ("a length of 2^63", [0x04, 0x88, 0x80, 0, 0, 0, 0, 0, 0, 0, 0], .lengthTooLarge),
        ("a length of 2^64 - 1", [0x04, 0x88] + [UInt8](repeating: 0xFF, count: 8), .lengthTooLarge),
        ("a length of nine bytes", [0x04, 0x89] + [UInt8](repeating: 0, count: 12), .lengthTooLarge),
        ("a length of 127 bytes", [0x04, 0xFF] + [UInt8](repeating: 0, count: 200), .lengthTooLarge),
        ("tag number 31", [0x1F, 0x1F, 0x00], .unsupportedTag),
        ("a tag of a million bytes", [0x3F] + [UInt8](repeating: 0xFF, count: 1_000_000), .unsupportedTag),
        ("an indefinite length without end", [0x30, 0x80, 0x02, 0x01, 0x05], .truncated),
        ("an indefinite length with half its end", [0x30, 0x80, 0x00], .truncated),
        ("a primitive of indefinite length", [0x04, 0x80, 0x00, 0x00], .unexpectedTag),
    ]

    // T10, T11
    @Test("A malformed element is refused with the code of its error", arguments: Named.list(refused) { $0.name })
    func refuses(row: Named<(name: String, bytes: [UInt8], code: BERError.Code)>) {
        #expect(failure(row.value.bytes) == row.value.code, "\(row)")
    }

    // T9
    @Test(
        "Indefinite lengths can be nested 16 deep and no deeper", arguments: [1, 15, 16, 17, 33, 64, 10_000, 1_000_000])
    func depth(levels: Int) {
        let open = [[UInt8]](repeating: [0x30, 0x80], count: levels).flatMap { $0 }
        let closed = open + [UInt8](repeating: 0, count: 2 * levels)
        #expect(failure(closed) == (levels <= BERCursor.maximumDepth ? nil : .tooDeep))
        #expect(failure(open) == (levels <= BERCursor.maximumDepth ? .truncated : .tooDeep))
    }

    @Test("Reading an element does not descend into definite lengths, however deeply they are nested")
    func definiteDepth() throws {
        var bytes: [UInt8] = []
        for _ in 0..<2_000 { bytes = DEREncoder.sequence(bytes) }
        var cursor = BERCursor(0..<bytes.count)
        #expect(try cursor.next(in: bytes.span).whole == 0..<bytes.count)
    }

    // T10
    @Test(
        "A length that is not minimally encoded is accepted",
        arguments: [
            [0x04, 0x02, 7, 8], [0x04, 0x81, 2, 7, 8], [0x04, 0x82, 0, 2, 7, 8],
            [0x04, 0x88, 0, 0, 0, 0, 0, 0, 0, 2, 7, 8],
        ] as [[UInt8]])
    func nonMinimal(bytes: [UInt8]) throws {
        var cursor = BERCursor(0..<bytes.count)
        let element = try cursor.next(BERTag.octetString, in: bytes.span)
        #expect(Array(bytes[element.content]) == [7, 8])
        try cursor.finish()
    }

    @Test("An element of indefinite length ends after its end-of-contents marker, and its content before it")
    func indefinite() throws {
        let bytes: [UInt8] = [0x24, 0x80, 0x04, 0x01, 0x09, 0x24, 0x80, 0, 0, 0, 0, 0x05, 0]
        var cursor = BERCursor(0..<bytes.count)
        let element = try cursor.next(BERTag.constructedOctetString, in: bytes.span)
        #expect(element.content == 2..<9)
        #expect(element.end == 11)
        #expect(throws: BERError(.trailingBytes, at: 11)) { try cursor.finish() }
        #expect(try cursor.nextIfPresent(BERTag.integer, in: bytes.span) == nil)
        #expect(try cursor.next(in: bytes.span).tag == 0x05)
        try cursor.finish()
        #expect(try cursor.nextIfPresent(BERTag.integer, in: bytes.span) == nil)
    }

    // T10
    @Test("An element cut off at any offset is truncated, with definite and indefinite lengths")
    func truncation() throws {
        let definite = DEREncoder.sequence(
            DEREncoder.octetString([UInt8](repeating: 3, count: 300)), DEREncoder.integer(5))
        let indefinite: [UInt8] = [0x30, 0x80, 0x24, 0x80, 0x04, 0x03, 1, 2, 3, 0, 0, 0x31, 0x80, 0, 0, 0, 0]
        for bytes in [definite, indefinite] {
            #expect(failure(bytes) == nil)
            for count in 0..<bytes.count { #expect(failure(Array(bytes.prefix(count))) == .truncated, "\(count)") }
        }
    }

    @Test("A cursor never reads beyond its range or beyond the buffer")
    func bounds() {
        let bytes: [UInt8] = [0x04, 0x03, 1, 2, 3]
        for range in [0..<4, 0..<9, 1..<5, 3..<5, 4..<5, 5..<5, 7..<9] {
            #expect(throws: BERError.self, "\(range)") {
                var cursor = BERCursor(range)
                _ = try cursor.next(BERTag.octetString, in: bytes.span)
            }
        }
    }

    static let integers: [(content: [UInt8], value: Int64?)] = [
        ([0], 0), ([0x7F], 127), ([0x80], -128), ([0xFF], -1), ([0, 0x80], 128), ([0, 0, 0, 1], 1),
        ([0x7F] + [UInt8](repeating: 0xFF, count: 7), .max), ([0x80] + [UInt8](repeating: 0, count: 7), .min),
        ([], nil), ([0, 0x80] + [UInt8](repeating: 0, count: 7), nil), ([UInt8](repeating: 0, count: 9), nil),
        ([UInt8](repeating: 0x7F, count: 4096), nil),
    ]

    @Test(
        "Integers of up to 64 bits are decoded, and wider or empty ones are refused",
        arguments: Named.list(integers) { $0.content })
    func integer(row: Named<(content: [UInt8], value: Int64?)>) throws {
        let (content, value) = row.value
        let bytes = DEREncoder.value(tag: 0x02, content)
        var cursor = BERCursor(0..<bytes.count)
        let element = try cursor.next(BERTag.integer, in: bytes.span)
        if let value {
            #expect(try element.integer(in: bytes.span) == value)
        } else {
            #expect(throws: BERError(.integerOutOfRange, at: 0)) { try element.integer(in: bytes.span) }
        }
    }

    @Test("Random bytes are either read to the end or refused")
    func noise() {
        var random = SeededGenerator("BER noise")
        let tags: [UInt8] = [0x30, 0x31, 0x04, 0x24, 0x02, 0x00, 0x80, 0xA0, 0x81, 0x84, 0xFF, 0x01]
        for _ in 0..<5_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                Bool.random(using: &random)
                    ? UInt8.random(in: 0...255, using: &random) : tags.randomElement(using: &random) ?? 0
            }
            var cursor = BERCursor(0..<bytes.count)
            while !cursor.isAtEnd {
                let before = cursor.position
                guard let element = try? cursor.next(in: bytes.span) else { break }
                #expect(element.start == before && element.end == cursor.position && element.end <= bytes.count)
                #expect(before < element.contentStart && element.contentStart <= element.contentEnd)
                #expect(element.contentEnd <= element.end)
            }
        }
    }
}
