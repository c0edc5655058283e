import Telemetry

/// The routes of both listeners, as labels; what goes nowhere is `other`.
enum RouteLabel {
    static let all = [
        "/verifyReceipt", "/WebObjects/MZFinance.woa/wa/verifyReceipt", "/production/verifyReceipt",
        "/sandbox/verifyReceipt", "/v1/receipts", "/v1/transactions/{id}", "/v1/notifications", "/healthz", "/readyz",
        "/metrics", "/openapi.json", "/", "/comparisons", "other",
    ]
    private static let numbers = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1, $0) })

    static func number(of path: String?) -> Int { path.flatMap { numbers[$0] } ?? all.count - 1 }
}

/// An HTTP status as a label: those that this server gives, and `other`.
struct HTTPStatusLabel: MetricLabel {
    private static let codes = [
        200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 417, 422, 429, 431, 499, 500, 501, 502, 503, 504,
    ]

    let rawValue: Int

    init(rawValue: Int) { self.rawValue = rawValue }

    init(code: Int) { rawValue = Self.codes.firstIndex(of: code) ?? Self.codes.count }

    static var allCases: [Self] { (0...codes.count).map { Self(rawValue: $0) } }

    var text: String { rawValue < Self.codes.count ? String(Self.codes[rawValue]) : "other" }
}

/// Requests since the start, of both listeners.
package final class HTTPMetrics: Sendable {
    let requests = CounterTable("route", RouteLabel.all, "status", HTTPStatusLabel.self)
    let durations = RouteLabel.all.map { _ in Histogram() }

    package init() {}

    func answered(_ path: String?, status: Int, after duration: Duration) {
        let route = RouteLabel.number(of: path)
        requests.add(route, HTTPStatusLabel(code: status).rawValue)
        durations[route].observe(duration)
    }

    func write(into text: inout MetricsText) {
        let requests = "receipt_bridge_http_requests_total"
        text.family(requests, .counter, "Requests, by route and HTTP status.")
        text.samples(requests, of: self.requests)
        let duration = "receipt_bridge_http_request_duration_seconds"
        text.family(duration, .histogram, "From the head of a request to the head of its answer.")
        for (route, histogram) in zip(RouteLabel.all, durations) {
            text.samples(duration, [("route", route)], of: histogram)
        }
    }
}
