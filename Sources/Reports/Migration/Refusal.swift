/// A refused row: the data needed to find it in the source, without any part of the receipt.
package struct Refusal: Sendable, Hashable {
    /// Row number in the source, from 1.
    package let row: Int64
    /// Id of the row.
    package let id: String
    /// Error code.
    package let code: String
    /// Place of the error inside the receipt.
    package let place: String
    /// Human-readable reason.
    package let reason: String

    /// Creates a refusal.
    package init(row: Int64, id: String, code: String, place: String, reason: String) {
        (self.row, self.id, self.code, self.place, self.reason) = (row, id, code, place, reason)
    }
}
