import ReceiptBridgeBase

/// Recorded responses of both endpoints for one receipt: an object with `verifyReceipt`, and `history` or `statuses`.
///
///     {"id": "c-1", "verifyReceipt": {"status": 0, …},
///      "history": {"signedTransactions": ["eyJ…"], …}, "statuses": {"data": […], …},
///      "historyVersion": 2, "excludeOldTransactions": false, "receipt": "MII…"}
///
/// Each response is an object, or its JSON text in a string. `history` may be an array of pages. What was not recorded
/// is `nil`.
struct RecordedPair {
    let verifyReceipt: [UInt8]?
    let history: [[UInt8]]?
    let statuses: [UInt8]?
    /// That of the verifyReceipt request, in any stored format.
    let receipt: [UInt8]?
    /// Version of Get Transaction History: 1 or 2.
    let historyVersion: Int
    /// `true` if the verifyReceipt request had `exclude-old-transactions`.
    let excludesOldTransactions: Bool

    /// Keys that identify a recorded pair. One of them is enough.
    static let keys = ["verifyReceipt", "history", "statuses"]

    /// Reads a recorded pair; `nil` if the bytes are something else.
    init?(_ bytes: [UInt8]) {
        guard bytes.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"), let object = try? JSONObject(bytes),
            object.has("verifyReceipt") || object.has("history") || object.has("statuses")
        else { return nil }
        verifyReceipt = Self.side("verifyReceipt", of: object)
        history = object.rawElements("history") ?? Self.side("history", of: object).map { [$0] }
        statuses = Self.side("statuses", of: object)
        receipt = ((try? object.text("receipt")) ?? (try? object.text("receipt-data"))).map { Array($0.utf8) }
        historyVersion = (try? object.integer("historyVersion")) == 1 ? 1 : 2
        excludesOldTransactions = (try? object.flag("excludeOldTransactions")) == true
    }

    /// Returns a response as JSON text, whether it was recorded as an object or as a string.
    private static func side(_ name: StaticString, of object: JSONObject) -> [UInt8]? {
        if let text = try? object.text(name) { return Array(text.utf8) }
        return object.rawJSON(name)
    }
}
