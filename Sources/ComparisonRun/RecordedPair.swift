import JSONReading

/// Both sides of one receipt as somebody recorded them: an object with `verifyReceipt`, and `history` or `statuses`.
///
///     {"id": "c-1", "verifyReceipt": {"status": 0, …},
///      "history": {"signedTransactions": ["eyJ…"], …}, "statuses": {"data": […], …},
///      "historyVersion": 2, "excludeOldTransactions": false, "receipt": "MII…"}
///
/// A side is an object, or its text in a string. `history` may be an array of pages.
struct RecordedPair {
    /// Nil where the recording has none.
    let verifyReceipt: [UInt8]?
    /// Pages; nil where the recording has none.
    let history: [[UInt8]]?
    let statuses: [UInt8]?
    /// The receipt that verifyReceipt answered, as a stored one; nil where the recording has none.
    let receipt: [UInt8]?
    /// Of Get Transaction History: 1 or 2.
    let historyVersion: Int
    /// Whether verifyReceipt was asked with `exclude-old-transactions`.
    let excludesOldTransactions: Bool

    /// Lines with one of these are recorded pairs.
    static let keys = ["verifyReceipt", "history", "statuses"]

    /// Nil for what is no recorded pair.
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

    private static func side(_ name: StaticString, of object: JSONObject) -> [UInt8]? {
        if let text = try? object.text(name) { return Array(text.utf8) }
        return object.rawJSON(name)
    }
}
