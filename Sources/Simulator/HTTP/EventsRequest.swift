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
