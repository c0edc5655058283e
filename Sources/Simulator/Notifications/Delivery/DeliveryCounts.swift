/// How many notifications are where; `made` is the sum of delivered, failed, lost and those of waiting that are no copies.
package struct DeliveryCounts: Sendable, Hashable {
    /// Bodies for an address, the lost ones too; second copies not.
    package var made = 0
    package var delivered = 0
    /// Given up.
    package var failed = 0
    /// Never sent, on request.
    package var lost = 0
    /// Not sent yet, on their way, or to be tried again; second copies too.
    package var waiting = 0
    /// Second copies, on request.
    package var copies = 0
    /// Requests that were made.
    package var attempts = 0

    /// `GET /notifications/deliveries`.
    var document: JSONValue {
        .object([
            "made": .number(Int64(made)), "delivered": .number(Int64(delivered)), "failed": .number(Int64(failed)),
            "lost": .number(Int64(lost)), "waiting": .number(Int64(waiting)), "copies": .number(Int64(copies)),
            "attempts": .number(Int64(attempts)),
        ])
    }
}
