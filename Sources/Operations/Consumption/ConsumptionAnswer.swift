import Rendering
package import StoreTypes

/// Apple answers with nothing; this says what was done: `{ "transactionId": "…", "sent": true }`.
package enum ConsumptionAnswer {
    package static func sent(_ id: TransactionIdentifier) -> [UInt8] {
        JSONWriter.object {
            $0.member("transactionId", id.rawValue)
            $0.member("sent", true)
        }
    }
}
