import ReceiptBridgeBase

/// The routes of both listeners as metric labels; `other` is every request without a route.
enum RouteLabel {
    /// The last label stands for all other paths.
    static let all = [
        "/verifyReceipt", "/WebObjects/MZFinance.woa/wa/verifyReceipt", "/production/verifyReceipt",
        "/sandbox/verifyReceipt", "/v1/receipts", "/v1/transactions/{id}", "/v1/transactions/{id}/appAccountToken",
        "/v1/orders/{orderId}", "/v1/customers", "/v1/consumption/{transactionId}", "/v1/notifications",
        "/v1/notifications/{uuid}", "/healthz", "/readyz", "/metrics", "/openapi.json", "/", "/comparisons",
        "/customers", "other",
    ]
    private static let indexes = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1, $0) })

    static func index(of path: String?) -> Int { path.flatMap { indexes[$0] } ?? all.count - 1 }
}

/// HTTP statuses as metric labels: the ones that this server sends, and `other`.
struct HTTPStatusLabel: MetricLabel {
    /// A fixed list, so that the number of time series is bounded.
    private static let codes = [
        200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 417, 422, 429, 431, 499, 500, 501, 502, 503, 504,
    ]

    let index: Int

    init(code: Int) { self.init(index: Self.codes.firstIndex(of: code) ?? Self.codes.count) }

    private init(index: Int) { self.index = index }

    static var allCases: [Self] { (0...codes.count).map { Self(index: $0) } }

    var text: String { index < Self.codes.count ? String(Self.codes[index]) : "other" }
}

/// Counts and durations of the requests to both listeners, since the start of the process.
package final class HTTPMetrics: Sendable {
    let requests = CounterTable(RouteLabel.all, HTTPStatusLabel.texts)
    let durations = RouteLabel.all.map { _ in Histogram() }

    package init() {}

    func record(_ path: String?, status: Int, after duration: Duration) {
        let route = RouteLabel.index(of: path)
        requests.add(at: route, HTTPStatusLabel(code: status).index)
        durations[route].observe(duration)
    }

    func write(into text: inout MetricsText) {
        text.family(.httpRequests, of: requests)
        text.family(.httpDurations)
        for (route, histogram) in zip(RouteLabel.all, durations) {
            text.samples(.httpDurations, [route], of: histogram, omitsEmpty: true)
        }
    }
}
