import JSONReading
package import StoreTypes

/// Whose receipt a verifyReceipt answer of Apple's is about: what the rules of an app are judged on.
package struct ResponseReceipt: Sendable {
    /// `receipt.bundle_id`, or `receipt.bid` in the flat answers of iOS 6. Nil if the answer names no app.
    package let bundleId: String?
    /// `environment`; nil if the answer names none, as those of iOS 6.
    package let environment: String?
    private let answer: JSONObject?

    /// Reads the answer once. Nothing is known of what is no JSON object.
    package init(_ body: [UInt8]) {
        answer = try? JSONObject(body)
        let receipt = (try? answer?.object("receipt")) ?? nil
        bundleId = (try? receipt?.text("bundle_id") ?? receipt?.text("bid")) ?? nil
        environment = (try? answer?.text("environment")) ?? nil
    }

    /// The identifiers in all of its rows.
    package var lookupKeys: CustomerIdentifiers {
        answer.map { CustomerIdentifiers(unverified: $0) } ?? CustomerIdentifiers([])
    }
}
