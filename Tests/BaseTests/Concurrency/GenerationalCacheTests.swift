import ReceiptBridgeBase
import Testing

@Suite("Cache with two generations")
struct GenerationalCacheTests {
    @Test("The older half is evicted as a whole, and a read keeps an entry")
    func eviction() {
        let cache = GenerationalCache<String, Int>(limit: 8)
        for (value, key) in ["a", "b", "c", "d"].enumerated() { cache.insert(value, for: key, cost: 1) }
        // The fifth entry begins a generation; reading `a` moves it there.
        cache.insert(4, for: "e", cost: 1)
        #expect(cache["a"] == 0)
        for (value, key) in ["f", "g", "h"].enumerated() { cache.insert(value + 5, for: key, cost: 1) }
        #expect(["a", "b", "c", "d", "e", "f", "g", "h"].map { cache[$0] } == [0, nil, nil, nil, 4, 5, 6, 7])
    }

    @Test("The costs of all values stay within the limit, and a value above a quarter of it is not cached")
    func cost() {
        let cache = GenerationalCache<Int, String>(limit: 100)
        cache.insert("small", for: 1, cost: 10)
        cache.insert("large", for: 1, cost: 26)
        #expect(cache[1] == nil, "the value that the large one replaces is out of date")
        for key in 0..<20 { cache.insert("value", for: key, cost: 25) }
        #expect([19, 18, 17, 15, 0].map { cache[$0] != nil } == [true, true, true, false, false])
    }

    @Test("A value is replaced, removed, or removed with all others")
    func removal() {
        let cache = GenerationalCache<Int, Int>(limit: 100)
        for key in 0..<3 { cache.insert(key, for: key, cost: 1) }
        cache.insert(10, for: 0, cost: 1)
        cache.remove(1)
        #expect((0..<3).map { cache[$0] } == [10, nil, 2])
        cache.removeAll()
        #expect((0..<3).allSatisfy { cache[$0] == nil })
    }
}
