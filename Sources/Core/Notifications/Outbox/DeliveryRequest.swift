import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeStorage
import ReceiptBridgeTransport

/// The HTTP request that posts one body to a target.
///
///     POST <url>
///     Content-Type: application/json
///     Receipt-Bridge-Delivery: <notificationUUID>
///     Receipt-Bridge-Attempt: <n, from 1>
///     Receipt-Bridge-Part: <n>/<count>                 (if one notification gives several bodies)
///     Receipt-Bridge-Signature: t=<unix seconds>,v1=<hexadecimal HMAC-SHA256 of "<t>.<body>">    (with a secret)
enum DeliveryRequest {
    /// Timeout of one exchange, from connecting to the last byte of the response.
    static let timeout = Duration.seconds(10)
    /// Maximum size of a response, in bytes. The response body is ignored.
    static let maximumResponseBytes = 1 << 20

    /// - Parameters:
    ///   - part: number of the body, from 1.
    ///   - parts: how many bodies the notification has.
    static func make(
        _ body: [UInt8], part: Int, of parts: Int, delivery: StoredDelivery, to target: ForwardTarget, now: Timestamp,
        timeout: Duration
    ) throws(TransportError) -> HTTPRequest {
        var headers: HTTPHeaders = [
            "Content-Type": "application/json", "Receipt-Bridge-Delivery": headerValue(delivery.uuid),
            "Receipt-Bridge-Attempt": String(delivery.attempts + 1),
        ]
        if parts > 1 { headers.append("Receipt-Bridge-Part", "\(part)/\(parts)") }
        if let secret = target.secret {
            headers.append("Receipt-Bridge-Signature", signature(of: body, secret: secret, at: now))
        }
        var request = try HTTPRequest(
            method: .post, url: target.url, headers: headers, body: body, timeout: timeout,
            maximumResponseBytes: maximumResponseBytes)
        request.isDelivery = true
        return request
    }

    static func signature(of body: [UInt8], secret: Redacted<String>, at now: Timestamp) -> String {
        let signed = Array("\(now.seconds).".utf8) + body
        return "t=\(now.seconds),v1=\(HMAC.hex(signed, key: Array(secret.reveal().utf8)))"
    }

    /// Returns a notification's UUID, or its digest if it has characters that a header cannot contain.
    private static func headerValue(_ uuid: String) -> String {
        guard uuid.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return "sha256:" + SHA.hex(Array(uuid.utf8), with: .sha256)
        }
        return uuid
    }
}
