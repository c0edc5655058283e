import AppStoreClients
import Responses
import AppStoreTypes

/// Writers for members that are always present; a missing value is `null`.
extension JSONWriter {
    mutating func member(_ name: String, _ value: String?) {
        key(name)
        if let value { self.value(value) } else { null() }
    }

    mutating func member(_ name: String, _ value: Int64?) {
        key(name)
        if let value { self.value(value) } else { null() }
    }

    mutating func member(_ name: String, _ value: Bool?) {
        key(name)
        if let value { self.value(value) } else { null() }
    }

    /// Writes milliseconds since 1970.
    mutating func member(_ name: String, _ date: Timestamp?) { member(name, date?.milliseconds) }

    /// Writes a JSON text as the value; `null` if it is empty.
    mutating func member(_ name: String, json: [UInt8]) {
        key(name)
        if json.isEmpty { null() } else { values(json: json) }
    }

    /// Writes `[{"attemptDate": 1795262400001, "sendAttemptResult": "SUCCESS"}]`, sorted by date.
    mutating func member(_ name: String, _ attempts: [SendAttempt]) {
        key(name)
        beginArray()
        for attempt in attempts.sorted(by: { $0.attemptDate ?? .distantPast < $1.attemptDate ?? .distantPast }) {
            beginObject()
            member("attemptDate", attempt.attemptDate)
            member("sendAttemptResult", attempt.sendAttemptResult)
            endObject()
        }
        endArray()
    }

    /// Returns one JSON object.
    static func object(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter(reserving: 1_024)
        writer.beginObject()
        members(&writer)
        writer.endObject()
        return writer.finish()
    }
}

extension Timestamp {
    /// Sorts attempts without a date first.
    fileprivate static var distantPast: Timestamp { Timestamp(milliseconds: .min) }
}
