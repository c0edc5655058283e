import JSONReading
package import StoreTypes

/// The app and the customer that a verifyReceipt response of Apple's is about. An app's rules are checked against them.
package struct ResponseReceipt: Sendable {
    /// `receipt.bundle_id`, or `receipt.bid` in the flat responses for iOS 6; `nil` if the response names no app.
    package let bundleId: String?
    /// `environment`; `nil` if the response names none, as those for iOS 6.
    package let environment: String?
    private let answer: JSONObject?

    /// Parses the response once. If it is not a JSON object, every property is `nil` or empty.
    package init(_ body: [UInt8]) {
        answer = try? JSONObject(body)
        let receipt = (try? answer?.object("receipt")) ?? nil
        bundleId = (try? receipt?.text("bundle_id") ?? receipt?.text("bid")) ?? nil
        environment = (try? answer?.text("environment")) ?? nil
    }

    /// The identifiers in all rows of the response.
    package var lookupKeys: CustomerIdentifiers {
        answer.map { CustomerIdentifiers(unverified: $0) } ?? CustomerIdentifiers([])
    }
}
