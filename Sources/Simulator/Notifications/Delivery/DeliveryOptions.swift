/// How the notifications of one call to `POST /events` are sent.
package struct DeliveryOptions: Sendable, Hashable {
    /// The shares, from 0 to 1, that are never sent, sent twice, and delayed behind later ones.
    package var lost = 0.0, doubled = 0.0, shuffled = 0.0
    /// How many are on their way at a time.
    package var concurrency = 8
    /// How much faster than Apple's are the pauses before another attempt; nil for the store's own.
    package var speed: Double?
    /// Chooses which ones are lost, doubled and shuffled.
    package var seed: UInt64 = 1

    package init() {}
}

/// What happens to letters on their way, in the order of sending.
struct DeliveryFaults {
    /// A letter's place, and whether it is a second copy.
    struct Sending: Hashable {
        let place: Int
        let isCopy: Bool
    }

    let sendings: [Sending]
    /// Places of those that are never sent.
    let lost: [Int]

    init(_ count: Int, _ options: DeliveryOptions) {
        var random = SplitMix64(seed: options.seed ^ 0x6C65_7474_6572_7321)
        func happens(_ share: Double) -> Bool { Double(random.next() >> 11) < share * 0x1p53 }
        var lost: [Int] = []
        // Sorted by a key: the own place, or a later one.
        var keyed: [(key: Double, sending: Sending)] = []
        func later(_ place: Int) -> Double {
            Double(place) + 0.5 + Double(random.number(below: Int64(max(count - place, 1))))
        }
        for place in 0..<count {
            // Drawn in any case, so that one share does not move another's choices.
            let (isLost, isDoubled, isShuffled) = (
                happens(options.lost), happens(options.doubled), happens(options.shuffled)
            )
            let (delay, copy) = (later(place), later(place))
            guard !isLost else {
                lost.append(place)
                continue
            }
            keyed.append((isShuffled ? delay : Double(place), Sending(place: place, isCopy: false)))
            if isDoubled { keyed.append((copy, Sending(place: place, isCopy: true))) }
        }
        sendings = keyed.sorted { ($0.key, $0.sending.place) < ($1.key, $1.sending.place) }.map(\.sending)
        self.lost = lost
    }
}
