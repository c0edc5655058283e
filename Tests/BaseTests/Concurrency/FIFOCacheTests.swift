import ReceiptBridgeBase
import Testing

@Suite("First-in, first-out cache")
struct FIFOCacheTests {
    @Test("The oldest entry is evicted, and an equal entry is not added")
    func eviction() {
        let cache = FIFOCache<String>(capacity: 3)
        for entry in ["a", "b", "A", "c", "B", "d"] {
            cache.insert(entry) { $0.lowercased() == entry.lowercased() }
        }
        #expect(cache.entries == ["b", "c", "d"])
        cache.removeAll()
        #expect(cache.entries.isEmpty)
    }
}
