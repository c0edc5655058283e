import Hummingbird
import Synchronization

/// A log of the requests to the simulated App Store, without receipts and secrets. Tests read it to check what a
/// proxy sent.
package final class RequestLog: Sendable {
    package struct Entry: Sendable, Hashable {
        package let method: String
        package let path: String
        /// `verifyReceipt.production`, `verifyReceipt.sandbox` or `verifyReceipt.automatic`; for the Server API the
        /// name of an ``APIEndpoint`` and the environment, for example `history.production`.
        package let endpoint: String
        package let contentType: String?
        package let contentLength: Int?
        /// Size of the body in bytes.
        package let bytes: Int
        /// Whether the body has a non-empty `password`.
        package let hasPassword: Bool
        /// The JSON text of `exclude-old-transactions`, or `nil` if it was not sent.
        package let excludeOldTransactions: String?
    }

    private struct Contents {
        var total = 0
        var counts: [String: Int] = [:]
        var last: [Entry] = []
    }

    private let contents = Mutex(Contents())

    package func add(_ entry: Entry) {
        contents.withLock {
            $0.total += 1
            $0.counts[entry.endpoint, default: 0] += 1
            if $0.last.count >= 100 { $0.last.removeFirst() }
            $0.last.append(entry)
        }
    }

    package func removeAll() { contents.withLock { $0 = Contents() } }

    package var total: Int { contents.withLock { $0.total } }

    package func count(_ endpoint: String) -> Int { contents.withLock { $0.counts[endpoint] ?? 0 } }

    /// The newest 100 requests, oldest first.
    package var last: [Entry] { contents.withLock { $0.last } }

    /// Returns the response to `GET /requests`.
    ///
    /// - Parameter rateLimited: number of Server API requests with a 429 response.
    package func document(rateLimited: Int = 0) -> JSONValue {
        let (total, counts, last) = contents.withLock { ($0.total, $0.counts, $0.last) }
        return JSONValue([
            "total": total, "rateLimited": rateLimited,
            "counts": JSONValue.object(
                counts.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .number(Int64($0.value))) }),
            "last": last.map(\.document),
        ])
    }
}

extension RequestLog.Entry {
    /// A received request, without the values of its body.
    init(_ request: Request, endpoint: String, contentLength: Int?, body: [UInt8]) {
        let document = try? JSONValue(reading: body)
        self.init(
            method: request.method.rawValue, path: request.uri.path, endpoint: endpoint,
            contentType: request.headers[.contentType], contentLength: contentLength, bytes: body.count,
            hasPassword: document?["password"]?.text.map { !$0.isEmpty } ?? false,
            excludeOldTransactions: (document?["exclude-old-transactions"]).map {
                String(decoding: $0.bytes, as: UTF8.self)
            })
    }

    fileprivate var document: JSONValue {
        JSONValue([
            "method": method, "path": path, "endpoint": endpoint,
            "contentType": contentType, "contentLength": contentLength, "bytes": bytes,
            "hasPassword": hasPassword, "excludeOldTransactions": excludeOldTransactions,
        ])
    }
}
