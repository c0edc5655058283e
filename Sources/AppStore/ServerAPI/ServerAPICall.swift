package import ReceiptBridgeBase
package import ReceiptBridgeTransport

/// A request to the App Store Server API without host and token.
///
/// Only the static functions below create one. Identifiers from outside are typed or escaped, so that none can change
/// the path.
package struct ServerAPICall: Sendable, Hashable {
    /// A `name=value` pair of the query.
    package struct Parameter: Sendable, Hashable {
        let name: String
        let value: String
    }

    /// The endpoint whose rate limit applies.
    package let endpoint: ServerAPIEndpoint
    package let method: HTTPMethod
    /// The escaped path, from the first slash on.
    package let path: String
    /// The query parameters, in this order.
    package let query: [Parameter]
    package let body: [UInt8]
    package let success: Int
    /// True if a successful response has a JSON body.
    let hasResponseBody: Bool
    /// True if the call is idempotent and may be retried.
    package let isRepeatable: Bool

    private init(
        _ endpoint: ServerAPIEndpoint, _ method: HTTPMethod, _ path: String, query: [Parameter] = [],
        body: [UInt8] = [], success: Int = 200, hasResponseBody: Bool = true, isRepeatable: Bool = true
    ) {
        (self.endpoint, self.method, self.path) = (endpoint, method, path)
        (self.query, self.body, self.success) = (query, body, success)
        (self.hasResponseBody, self.isRepeatable) = (hasResponseBody, isRepeatable)
    }

    package var target: String {
        guard !query.isEmpty else { return path }
        return path + "?" + query.map { "\($0.name)=\(Self.escape($0.value))" }.joined(separator: "&")
    }
}

extension ServerAPICall {
    /// https://developer.apple.com/documentation/appstoreserverapi/get-transaction-info
    package static func transactionInfo(_ id: TransactionIdentifier) -> Self {
        Self(.transactionInfo, .get, "/inApps/v1/transactions/\(id)")
    }

    /// The id is any transaction identifier of the customer. The revision is that of the previous page.
    /// https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history
    package static func history(_ id: TransactionIdentifier, revision: String? = nil) -> Self {
        Self(.history, .get, "/inApps/v2/history/\(id)", query: Self.revision(revision))
    }

    /// https://developer.apple.com/documentation/appstoreserverapi/get-all-subscription-statuses
    package static func statuses(_ id: TransactionIdentifier) -> Self {
        Self(.statuses, .get, "/inApps/v1/subscriptions/\(id)")
    }

    /// https://developer.apple.com/documentation/appstoreserverapi/get-app-transaction-info
    package static func appTransactionInfo(_ id: TransactionIdentifier) -> Self {
        Self(.appTransactionInfo, .get, "/inApps/v1/transactions/appTransactions/\(id)")
    }

    /// https://developer.apple.com/documentation/appstoreserverapi/get-refund-history
    package static func refundHistory(_ id: TransactionIdentifier, revision: String? = nil) -> Self {
        Self(.refundHistory, .get, "/inApps/v2/refund/lookup/\(id)", query: Self.revision(revision))
    }

    /// Available only in production. An unknown order is reported in the response, not as an error.
    /// https://developer.apple.com/documentation/appstoreserverapi/look-up-order-id
    package static func orderLookup(_ orderId: String) throws(UpstreamError) -> Self {
        Self(.orderLookup, .get, "/inApps/v1/lookup/\(try segment(orderId, "order id"))")
    }

    private static func revision(_ revision: String?) -> [Parameter] {
        revision.map { [Parameter(name: "revision", value: $0)] } ?? []
    }

    /// Encodes an identifier from outside for the path. Throws `invalidIdentifier` if it could change the path.
    private static func segment(_ text: String, _ name: String) throws(UpstreamError) -> String {
        guard (1...255).contains(text.utf8.count), text != ".", text != ".." else {
            throw UpstreamError(.invalidIdentifier, at: name, "must be 1 to 255 bytes and neither . nor ..")
        }
        return escape(text)
    }

    /// Percent-encodes text for a path segment or a query value (RFC 3986, 2.3). All bytes except letters, digits and
    /// `-._~` are escaped, so that no text can change the path. Example: `a/b` becomes `a%2Fb`.
    private static func escape(_ text: String) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if byte.isASCIIAlphanumeric || "-._~".utf8.contains(byte) {
                output.append(byte)
            } else {
                output.append(UInt8(ascii: "%"))
                Hexadecimal.append(byte, to: &output, uppercase: true)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

extension ServerAPICall {
    /// https://developer.apple.com/documentation/appstoreserverapi/get-notification-history
    package static func notificationHistory(_ query: NotificationQuery, paginationToken: String? = nil) -> Self {
        Self(
            .notificationHistory, .post, "/inApps/v1/notifications/history",
            query: paginationToken.map { [Parameter(name: "paginationToken", value: $0)] } ?? [], body: query.body)
    }

    /// https://developer.apple.com/documentation/appstoreserverapi/request-a-test-notification
    package static func requestTestNotification() -> Self {
        Self(.testNotification, .post, "/inApps/v1/notifications/test", isRepeatable: false)
    }

    /// https://developer.apple.com/documentation/appstoreserverapi/get-test-notification-status
    package static func testNotificationStatus(_ token: String) throws(UpstreamError) -> Self {
        Self(.testNotification, .get, "/inApps/v1/notifications/test/\(try segment(token, "test notification token"))")
    }
}

/// Calls that change data. Each may be repeated, either because it has a request identifier or because it is
/// idempotent.
extension ServerAPICall {
    /// https://developer.apple.com/documentation/appstoreserverapi/extend-a-subscription-renewal-date
    package static func extend(_ id: TransactionIdentifier, _ request: ExtensionRequest) -> Self {
        Self(.extend, .put, "/inApps/v1/subscriptions/extend/\(id)", body: request.body)
    }

    /// https://developer.apple.com/documentation/appstoreserverapi/extend-subscription-renewal-dates-for-all-active-subscribers
    package static func extendAll(_ request: MassExtensionRequest) -> Self {
        Self(.massExtend, .post, "/inApps/v1/subscriptions/extend/mass", body: request.body)
    }

    /// https://developer.apple.com/documentation/appstoreserverapi/get-status-of-subscription-renewal-date-extensions
    package static func extensionStatus(productId: String, requestIdentifier: String) throws(UpstreamError) -> Self {
        let product = try segment(productId, "product id")
        let request = try segment(requestIdentifier, "request identifier")
        return Self(.massExtend, .get, "/inApps/v1/subscriptions/extend/mass/\(product)/\(request)")
    }

    /// https://developer.apple.com/documentation/appstoreserverapi/send-consumption-information
    package static func consumption(_ id: TransactionIdentifier, _ request: ConsumptionRequest) -> Self {
        Self(
            .consumption, .put, "/inApps/v2/transactions/consumption/\(id)", body: request.body, success: 202,
            hasResponseBody: false)
    }

    /// https://developer.apple.com/documentation/appstoreserverapi/send-consumption-information-v1
    package static func consumption(_ id: TransactionIdentifier, _ request: ConsumptionRequestV1) -> Self {
        Self(
            .consumption, .put, "/inApps/v1/transactions/consumption/\(id)", body: request.body, success: 202,
            hasResponseBody: false)
    }

    /// https://developer.apple.com/documentation/appstoreserverapi/set-app-account-token
    package static func setAppAccountToken(_ originalTransactionId: TransactionIdentifier, _ token: String) -> Self {
        Self(
            .appAccountToken, .put, "/inApps/v1/transactions/\(originalTransactionId)/appAccountToken",
            body: JSONWriter.object { $0.member("appAccountToken", token) }, hasResponseBody: false)
    }
}
