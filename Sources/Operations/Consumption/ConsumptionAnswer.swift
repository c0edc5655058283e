package import Base

/// The output of `consumption send`: `{ "transactionId": "…", "sent": true }`. Apple's response has no body.
package enum ConsumptionAnswer {
    package static func sent(_ id: TransactionIdentifier) -> [UInt8] {
        JSONWriter.object {
            $0.member("transactionId", id.rawValue)
            $0.member("sent", true)
        }
    }
}
