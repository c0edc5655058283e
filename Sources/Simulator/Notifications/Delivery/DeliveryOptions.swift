/// Options of sending the notifications of one call to `POST /events`.
package struct DeliveryOptions: Sendable, Hashable {
    /// Shares, from 0 to 1, of the notifications that are never sent, sent twice, or sent after later ones.
    package var lost = 0.0, doubled = 0.0, shuffled = 0.0
    package var concurrency = 8
    /// Factor by which the pauses before retries are shorter than Apple's, or `nil` for the store's own factor.
    package var speed: Double?
    /// Chooses the notifications that are lost, doubled and shuffled.
    package var seed: UInt64 = 1

    package init() {}
}

/// The injected faults of one call: which notifications are lost, doubled and shuffled, in the order of sending.
struct DeliveryFaults {
    /// The positions of the notifications that are sent, and whether this is the duplicate.
    let sendings: [(position: Int, isCopy: Bool)]
    private(set) var lost = 0

    init(_ count: Int, _ options: DeliveryOptions) {
        var random = SplitMix64(seed: options.seed ^ 0x6C65_7474_6572_7321)
        func happens(_ share: Double) -> Bool { Double(random.next() >> 11) < share * 0x1p53 }
        // Sorted by a key, which is the position itself or a later one.
        var keyed: [(key: Double, position: Int, isCopy: Bool)] = []
        func later(_ position: Int) -> Double {
            Double(position) + 0.5 + Double(random.number(below: Int64(max(count - position, 1))))
        }
        for position in 0..<count {
            // All random numbers are drawn in any case, so that one share does not change the choices of another.
            let (isLost, isDoubled, isShuffled) = (
                happens(options.lost), happens(options.doubled), happens(options.shuffled)
            )
            let (delay, copy) = (later(position), later(position))
            guard !isLost else {
                lost += 1
                continue
            }
            keyed.append((isShuffled ? delay : Double(position), position, false))
            if isDoubled { keyed.append((copy, position, true)) }
        }
        sendings = keyed.sorted { ($0.key, $0.position) < ($1.key, $1.position) }.map { ($0.position, $0.isCopy) }
    }
}
