import ReceiptBridgeBatch
import Testing
import ReceiptBridgeTestSupport

@Suite("Fingerprint sets")
struct FingerprintSetTests {
    @Test("A set finds every inserted text, in memory and on disk", arguments: [0, 1_000, 1 << 20])
    func membership(memoryLimit: Int) throws {
        var random = SeededGenerator("identifiers")
        let set = FingerprintSet(memoryLimit: memoryLimit)
        var inserted: Set<[UInt8]> = []
        for text in ["", "\0", "a", "A", "a\0b", "a\0c", "é", "e\u{301}"] {
            #expect(try set.insert(text))
            #expect(try !set.insert(text))
            inserted.insert(Array(text.utf8))
        }
        for _ in 0..<20_000 {
            let text = String(UInt64.random(in: 0..<15_000, using: &random))
            #expect(try set.insert(text) == inserted.insert(Array(text.utf8)).inserted)
        }
    }

    @Test("Two sets are independent")
    func separation() throws {
        let (one, other) = (FingerprintSet(), FingerprintSet(memoryLimit: 0))
        #expect(try one.insert("a"))
        #expect(try other.insert("a"))
    }
}
