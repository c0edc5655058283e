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

    typealias Response = (SimulatedServerAPI, ServerAPICall) throws -> APIAnswer

    /// Everything about an endpoint: method; path below `/inApps/` with `{}` for each parameter; requests per second in
    /// production as Apple publishes them, of which the sandbox allows a tenth; response.
    var row: (method: String, path: String, rate: Int64, respond: Response) {
        switch self {
        case .transactionInfo: ("GET", "v1/transactions/{}", 50, { try $0.transactionInfo($1) })
        case .history: ("GET", "v2/history/{}", 50, { try $0.history($1, listsFinished: true) })
        case .historyV1: ("GET", "v1/history/{}", 50, { try $0.history($1, listsFinished: false) })
        case .subscriptionStatuses: ("GET", "v1/subscriptions/{}", 50, { try $0.subscriptionStatuses($1) })
        case .appTransactionInfo: ("GET", "v1/transactions/appTransactions/{}", 50, { try $0.appTransactionInfo($1) })
        case .refundHistory: ("GET", "v2/refund/lookup/{}", 10, { try $0.refundHistory($1) })
        case .refundHistoryV1: ("GET", "v1/refund/lookup/{}", 10, { try $0.refundHistoryV1($1) })
        case .orderLookup: ("GET", "v1/lookup/{}", 10, { try $0.orderLookup($1) })
        case .extend: ("PUT", "v1/subscriptions/extend/{}", 20, { try $0.extend($1) })
        case .massExtend: ("POST", "v1/subscriptions/extend/mass", 1, { try $0.massExtend($1) })
        case .massExtendStatus: ("GET", "v1/subscriptions/extend/mass/{}/{}", 1, { try $0.massExtendStatus($1) })
        case .notificationHistory: ("POST", "v1/notifications/history", 50, { try $0.notificationHistory($1) })
        case .testNotification: ("POST", "v1/notifications/test", 1, { try $0.testNotification($1) })
        case .testNotificationStatus: ("GET", "v1/notifications/test/{}", 1, { try $0.testNotificationStatus($1) })
        case .consumption: ("PUT", "v2/transactions/consumption/{}", 50, { try $0.consumption($1, .second) })
        case .consumptionV1: ("PUT", "v1/transactions/consumption/{}", 50, { try $0.consumption($1, .first) })
        case .appAccountToken: ("PUT", "v1/transactions/{}/appAccountToken", 20, { try $0.setAppAccountToken($1) })
        case .finish: ("POST", "v1/transactions/{}/finish", 50, { try $0.finish($1) })
        }
    }

    /// The endpoint of a path below `/inApps/` with the values of its parameters.
    static func matching(method: String, path: [String]) -> (endpoint: APIEndpoint, values: [String])? {
        for endpoint in allCases where endpoint.row.method == method {
            let components = endpoint.row.path.split(separator: "/")
            guard components.count == path.count, zip(components, path).allSatisfy({ $0 == "{}" || $0 == $1 }) else {
                continue
            }
            return (endpoint, zip(components, path).filter { $0.0 == "{}" }.map(\.1))
        }
        return nil
    }
}
