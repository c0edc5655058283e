import ReceiptBridgeBase
import Foundation

/// The body of a notification. Its version is detected by its keys and not by the URL: a requested test notification
/// has the form of version 2 even if version 1 is configured.
///
///     version 2: { "signedPayload": "eyJ…" }
///     version 1: { "notification_type": "…", "password": "…", "bid": "…", "environment": "PROD", … }
///
/// - https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2
/// - https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv1
enum NotificationBody {
    case version2(String)
    case version1(NotificationBodyV1)

    init(_ bytes: [UInt8]) throws(NotificationRejection) {
        let object: JSONObject
        do throws(JSONStructureError) {
            object = try JSONObject(bytes)
        } catch {
            throw NotificationRejection(.malformedNotification, "not a JSON object")
        }
        if let text = try? object.text("signedPayload") {
            self = .version2(text)
        } else if object.has("notification_type") || object.has("password") {
            self = .version1(NotificationBodyV1(object))
        } else {
            throw NotificationRejection(
                .malformedNotification, "the body has neither the text signedPayload nor a notification_type")
        }
    }
}

/// The relevant fields of a version 1 notification. Only the receipt in it is signed.
///
/// A member of a foreign type counts as absent, because Apple changed this form several times: until 2020 `bid` was
/// only in the objects `latest_receipt_info` or `latest_expired_receipt_info`, which had a receipt of their own beside
/// them.
struct NotificationBodyV1 {
    /// `notification_type`, for example `DID_RENEW`; at most 128 bytes. `nil` if it is not the name of a type.
    let type: String?
    /// `nil` if it is empty.
    let password: SharedSecret?
    /// The first `bid` of the top level and of the objects in it. It is not signed, so the password must be one of that
    /// app's secrets.
    let bundleId: BundleIdentifier?
    /// The environment according to the body (`PROD` or `Sandbox`); production if it names none, `nil` if it names
    /// another. It is not signed, so it is only a hint.
    let environment: AppStoreEnvironment?
    /// `unified_receipt.latest_receipt`, `latest_receipt` and `latest_expired_receipt`; base64.
    let receipts: [Redacted<[UInt8]>]
    /// Transactions that the body names, those of its top level first, at most eight. Each is named by its original
    /// transaction id if present, otherwise by its transaction id.
    let transactionIds: [TransactionIdentifier]
    /// The body with its passwords masked. Its digest identifies the notification.
    let redacted: String

    /// A type is not signed, but stored and logged. Apple's longest one has about 30 characters.
    private static func isType(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    private static let environments: [String: AppStoreEnvironment] = [
        "PROD": .production, "Production": .production, "Sandbox": .sandbox,
    ]
    private static let maximumIdentifiers = 8
    /// Maximum number of rows that are read from a list; Apple's lists are not longer.
    private static let maximumRows = 100

    init(_ object: JSONObject) {
        let unified = Self.objects("unified_receipt", in: object).first
        let tops = [object] + [unified].compactMap { $0 }
        type = (try? object.text("notification_type")).flatMap { Self.isType($0) ? $0 : nil }
        password = (try? object.text("password")).flatMap { $0.isEmpty ? nil : SharedSecret($0) }
        environment =
            tops.lazy.compactMap { try? $0.text("environment") }.compactMap { Self.environments[$0] }.first
            ?? (tops.contains { $0.has("environment") } ? nil : .production)
        receipts = [
            try? unified?.text("latest_receipt"), try? object.text("latest_receipt"),
            try? object.text("latest_expired_receipt"),
        ].compactMap { $0 }.map { Redacted(Array($0.utf8)) }
        var rows = tops
        for top in tops {
            for name in ["latest_receipt_info", "latest_expired_receipt_info", "pending_renewal_info"] as [StaticString]
            {
                rows += Self.objects(name, in: top)
            }
        }
        bundleId = rows.lazy.compactMap { try? $0.text("bid") }.compactMap(BundleIdentifier.init(rawValue:)).first
        var distinct: [TransactionIdentifier] = []
        for row in rows {
            if let identifier = Self.identifier(in: row), !distinct.contains(identifier) { distinct.append(identifier) }
        }
        transactionIds = Array(distinct.prefix(Self.maximumIdentifiers))
        redacted = Self.redacted(object.bytes)
    }

    private static func objects(_ name: StaticString, in object: JSONObject) -> [JSONObject] {
        if let single = try? object.object(name) { return [single] }
        let elements = object.rawElements(name) ?? []
        return elements.prefix(maximumRows).compactMap { try? JSONObject($0) }
    }

    private static func identifier(in object: JSONObject) -> TransactionIdentifier? {
        identifier("original_transaction_id", in: object) ?? identifier("transaction_id", in: object)
    }

    /// Reads an identifier that is a number of up to 18 digits or a text.
    private static func identifier(_ name: StaticString, in object: JSONObject) -> TransactionIdentifier? {
        let text = (try? object.integer(name)).map { String($0) } ?? (try? object.text(name))
        return text.flatMap(TransactionIdentifier.init(rawValue:))
    }

    /// Masks every password. Member names with escapes match too, for example `pass\u0077ord`.
    private static func redacted(_ bytes: [UInt8]) -> String {
        let span = bytes.span
        var passwords: [Range<Int>] = []
        var scanner = JSONScanner()
        // Does not throw: the caller has already parsed the body as an object.
        try? scanner.scanDocument(span) { member in
            if member.name.matches("password", in: span) { passwords.append(member.value.whole) }
        }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        var position = 0
        for range in passwords {
            text += bytes[position..<range.lowerBound]
            text += Array("\"***\"".utf8)
            position = range.upperBound
        }
        text += bytes[position...]
        return String(decoding: text, as: UTF8.self)
    }
}

/// The body of a version 2 notification as the App Store posts it.
enum CanonicalNotificationBody {
    private static let begin = Array(#"{"signedPayload":""#.utf8)
    private static let end = Array(#""}"#.utf8)

    /// Returns `{"signedPayload":"eyJ…"}` of a compact JWS, which needs no escaping.
    static func version2(_ text: String) -> [UInt8] { begin + Array(text.utf8) + end }

    static func isVersion2(_ body: [UInt8], of text: String) -> Bool {
        let count = text.utf8.count
        guard body.count == begin.count + count + end.count, body.starts(with: begin),
            body.suffix(end.count) == end[...]
        else { return false }
        var text = text
        return text.withUTF8 { text in
            body.withUnsafeBytes { body in
                guard let expected = text.baseAddress, let start = body.baseAddress else { return count == 0 }
                return memcmp(start + begin.count, expected, count) == 0
            }
        }
    }
}
