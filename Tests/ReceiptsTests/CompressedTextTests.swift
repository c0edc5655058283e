import Testing
import ReceiptBridgeTestSupport

import ReceiptBridgeReceipts

@Suite("Decompression")
struct CompressedTextTests {
    /// Data with repetitions at many distances, in stretches that compress well and not at all.
    private func data(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
        var data: [UInt8] = []
        while data.count < count {
            let length = Int.random(in: 1...600, using: &random)
            switch Int.random(in: 0...3, using: &random) {
            case 0: data += (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            case 1: data += repeatElement(UInt8.random(in: 0...255, using: &random), count: length)
            case 2: data += (0..<length).map { _ in UInt8.random(in: 0x41...0x5A, using: &random) }
            default:
                let start = Int.random(in: 0...data.count, using: &random)
                data += Array(data[start...].prefix(length))
            }
        }
        return data
    }

    @Test("What gzip compresses is decompressed, at every level")
    func roundTrip() throws {
        var random = SeededGenerator("inflate")
        for (index, size) in [1, 20, 300, 5_000, 70_000, 200_000, 20_000, 1_000, 40].enumerated() {
            let data = data(size, &random)
            #expect(CompressedText.inflate(try ReceiptFinderTests.compressed(data, level: index + 1)) == data)
        }
    }

    // T13
    @Test("Data that is cut off or damaged gives a beginning, and never more than the limit")
    func damage() throws {
        var random = SeededGenerator("damage")
        let data = data(3_000, &random)
        let compressed = try ReceiptFinderTests.compressed(data)
        for end in stride(from: 0, to: compressed.count, by: 7) {
            #expect(data.starts(with: CompressedText.inflate(Array(compressed.prefix(end))) ?? []))
        }
        for _ in 0..<TestSize.pick(debug: 400, release: 2_000) {
            var damaged = compressed
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            #expect((CompressedText.inflate(damaged)?.count ?? 0) <= 64 * damaged.count + 258)
        }
    }

    // T13
    @Test("A small input that expands without end is stopped")
    func bomb() throws {
        let bomb = try ReceiptFinderTests.compressed([UInt8](repeating: 0x41, count: 4 << 20), level: 9)
        #expect(bomb.count < 5_000)
        #expect((CompressedText.inflate(bomb)?.count ?? 0) <= 64 * bomb.count + 258)
    }

    @Test("Other data is not decompressed")
    func others() {
        for data in [[], [0x1F], [0x1F, 0x8B, 8], [0x78], [0x78, 0x9C], Array("x'3082".utf8), Array("H4sIAAAA".utf8)] {
            #expect(CompressedText.inflate(data) == nil)
        }
    }
}
