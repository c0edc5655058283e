/// The endpoints of the App Store Server API. Raw values are the names in faults and in the request log, for example
/// `history`.
///
/// Names with `V1` are the first version of an endpoint that now has a second one.
package enum APIEndpoint: String, Sendable, Hashable, CaseIterable {
    case transactionInfo, history, historyV1, subscriptionStatuses, appTransactionInfo
    case refundHistory, refundHistoryV1, orderLookup
    case extend, massExtend, massExtendStatus
    case notificationHistory, testNotification, testNotificationStatus
    case consumption, consumptionV1, appAccountToken, finish

    /// Method, and path below `/inApps/` with `{}` for each parameter.
    var pattern: (method: String, path: String) {
        switch self {
        case .transactionInfo: ("GET", "v1/transactions/{}")
        case .history: ("GET", "v2/history/{}")
        case .historyV1: ("GET", "v1/history/{}")
        case .subscriptionStatuses: ("GET", "v1/subscriptions/{}")
        case .appTransactionInfo: ("GET", "v1/transactions/appTransactions/{}")
        case .refundHistory: ("GET", "v2/refund/lookup/{}")
        case .refundHistoryV1: ("GET", "v1/refund/lookup/{}")
        case .orderLookup: ("GET", "v1/lookup/{}")
        case .extend: ("PUT", "v1/subscriptions/extend/{}")
        case .massExtend: ("POST", "v1/subscriptions/extend/mass")
        case .massExtendStatus: ("GET", "v1/subscriptions/extend/mass/{}/{}")
        case .notificationHistory: ("POST", "v1/notifications/history")
        case .testNotification: ("POST", "v1/notifications/test")
        case .testNotificationStatus: ("GET", "v1/notifications/test/{}")
        case .consumption: ("PUT", "v2/transactions/consumption/{}")
        case .consumptionV1: ("PUT", "v1/transactions/consumption/{}")
        case .appAccountToken: ("PUT", "v1/transactions/{}/appAccountToken")
        case .finish: ("POST", "v1/transactions/{}/finish")
        }
    }

    /// Requests per second in production, as Apple publishes them. The sandbox allows a tenth.
    package var rate: Int64 {
        switch self {
        case .extend, .appAccountToken: 20
        case .orderLookup, .refundHistory, .refundHistoryV1: 10
        case .massExtend, .massExtendStatus, .testNotification, .testNotificationStatus: 1
        default: 50
        }
    }

    /// Returns the endpoint of a path below `/inApps/` with the values of its parameters, or `nil` if there is no
    /// such endpoint.
    static func matching(method: String, path: [String]) -> (endpoint: APIEndpoint, values: [String])? {
        for endpoint in allCases where endpoint.pattern.method == method {
            let components = endpoint.pattern.path.split(separator: "/")
            guard components.count == path.count, zip(components, path).allSatisfy({ $0 == "{}" || $0 == $1 }) else {
                continue
            }
            return (endpoint, zip(components, path).filter { $0.0 == "{}" }.map(\.1))
        }
        return nil
    }
}
