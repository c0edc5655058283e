import Cryptography
import Ledger
import Pipeline
import StoreTypes
import Transport

/// What is posted to a target.
///
///     POST <url>
///     Content-Type: application/json
///     Receipt-Bridge-Delivery: <notificationUUID>
///     Receipt-Bridge-Attempt: <n, from 1>
///     Receipt-Bridge-Part: <n>/<of how many>           (where one notification gives several bodies)
///     Receipt-Bridge-Signature: t=<unix seconds>,v1=<hexadecimal HMAC-SHA256 of "<t>.<body>">    (with a secret)
enum DeliveryRequest {
    /// From the first byte of connecting to the last of the answer.
    static let timeout = Duration.seconds(10)
    /// Nobody reads it.
    static let maximumResponseBytes = 1 << 20

    /// - Parameters:
    ///   - part: from 1.
    ///   - now: goes into the signature.
    static func make(
        _ body: [UInt8], part: Int, of parts: Int, delivery: StoredDelivery, to target: ForwardTarget, now: Timestamp,
        timeout: Duration
    ) throws(TransportError) -> HTTPRequest {
        var headers: HTTPHeaders = [
            "Content-Type": "application/json", "Receipt-Bridge-Delivery": name(delivery.uuid),
            "Receipt-Bridge-Attempt": String(delivery.attempts + 1),
        ]
        if parts > 1 { headers.append("Receipt-Bridge-Part", "\(part)/\(parts)") }
        if let secret = target.secret {
            headers.append("Receipt-Bridge-Signature", signature(of: body, secret: secret, at: now))
        }
        return try HTTPRequest(
            method: .post, url: target.url, headers: headers, body: body, timeout: timeout,
            maximumResponseBytes: maximumResponseBytes)
    }

    static func signature(of body: [UInt8], secret: Redacted<String>, at now: Timestamp) -> String {
        let signed = Array("\(now.seconds).".utf8) + body
        return "t=\(now.seconds),v1=\(HMAC.hex(signed, key: Array(secret.reveal().utf8)))"
    }

    /// A notification's name as a header may hold it.
    private static func name(_ uuid: String) -> String {
        guard uuid.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return "sha256:" + SHA.hex(Array(uuid.utf8), with: .sha256)
        }
        return uuid
    }
}
