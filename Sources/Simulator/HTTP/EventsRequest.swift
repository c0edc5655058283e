import ReceiptBridgeBase

/// The body of `POST /events`.
///
/// For many events: `{"count": 100, "seed": 7, "environment": "production" | "sandbox"}`. For one event of
/// ``WorldEvent``: `{"event": "refund", "transactionId": "…"}`, with `transactionId`, `originalTransactionId` or
/// `customer` if it should happen to a certain customer. Both forms may have `lost`, `doubled` and `shuffled` (shares
/// from 0 to 1), `concurrency` and `speed`. With `"silent": true` there are no notifications about the events.
struct EventsRequest: Sendable {
    enum Kind: Sendable {
        case many(Int)
        case one(EventRequest)
    }

    static let maximumCount: Int64 = 100_000

    let kind: Kind
    let seed: UInt64?
    let environment: AppStoreEnvironment?
    /// Whether the notifications are neither sent nor listed in the notification history.
    let isSilent: Bool
    let options: DeliveryOptions

    init?(_ document: JSONValue) {
        guard case .object = document, let options = DeliveryOptions(document),
            let environment = document.environment
        else { return nil }
        (self.options, self.environment) = (options, environment)
        isSilent = document["silent"] == .bool(true)
        seed = document["seed"]?.integer.map { UInt64(bitPattern: $0) }
        if let name = document["event"]?.text {
            guard let event = WorldEvent(rawValue: name) else { return nil }
            kind = .one(
                EventRequest(
                    event, customerId: document["customer"]?.text, transactionId: document["transactionId"]?.text,
                    originalTransactionId: document["originalTransactionId"]?.text, environment: environment))
        } else {
            guard let count = document["count"]?.integer, (0...Self.maximumCount).contains(count) else { return nil }
            kind = .many(Int(count))
        }
    }
}

extension DeliveryOptions {
    fileprivate init?(_ document: JSONValue) {
        self.init()
        for (name, path) in [("lost", \Self.lost), ("doubled", \.doubled), ("shuffled", \.shuffled)] {
            guard let value = document[name] else { continue }
            guard let share = value.decimal, (0...1).contains(share) else { return nil }
            self[keyPath: path] = share
        }
        if let value = document["concurrency"] {
            guard let limit = value.integer, (1...256).contains(limit) else { return nil }
            concurrency = Int(limit)
        }
        if let value = document["speed"] {
            guard let factor = value.decimal, factor > 0 else { return nil }
            speed = factor
        }
        if let integer = document["seed"]?.integer { seed = UInt64(bitPattern: integer) }
    }
}

extension JSONValue {
    /// The value of a number with or without a fraction; ``JSONValue`` stores the latter as a string.
    fileprivate var decimal: Double? { integer.map(Double.init) ?? text.flatMap(Double.init) }
}

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
