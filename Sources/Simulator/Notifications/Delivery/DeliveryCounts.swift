/// The number of notifications in each state. `made` is the sum of delivered, failed, lost and waiting, not counting
/// duplicates.
package struct DeliveryCounts: Sendable, Hashable {
    /// Bodies for an address, including lost ones, without duplicates.
    package var made = 0
    package var delivered = 0
    /// No attempt succeeded, and there will be no retry.
    package var failed = 0
    /// Never sent, because the caller of `POST /events` asked for lost notifications.
    package var lost = 0
    /// Not sent yet, in flight, or waiting for a retry, including duplicates.
    package var waiting = 0
    /// Duplicates, which the caller of `POST /events` asked for.
    package var copies = 0
    /// Requests sent.
    package var attempts = 0

    /// The response to `GET /notifications/deliveries`.
    var document: JSONValue {
        .object([
            "made": .number(Int64(made)), "delivered": .number(Int64(delivered)), "failed": .number(Int64(failed)),
            "lost": .number(Int64(lost)), "waiting": .number(Int64(waiting)), "copies": .number(Int64(copies)),
            "attempts": .number(Int64(attempts)),
        ])
    }
}
