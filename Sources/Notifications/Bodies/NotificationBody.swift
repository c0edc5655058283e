import Foundation
import JSON
import AppStoreTypes

/// The body of a notification. Its version is detected by its keys and not by the URL: a requested test notification
/// has the form of version 2 even if version 1 is configured.
///
///     version 2: { "signedPayload": "eyJ…" }
///     version 1: { "notification_type": "…", "password": "…", "bid": "…", "environment": "PROD", … }
///
/// - https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2
/// - https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv1
enum NotificationBody {
    /// Version 2: the compact JWS.
    case version2(String)
    case version1(NotificationBodyV1)

    init(_ bytes: [UInt8]) throws(NotificationRejection) {
        let object: JSONObject
        do throws(JSONStructureError) {
            object = try JSONObject(bytes)
        } catch {
            throw NotificationRejection(.malformedNotification, "not a JSON object")
        }
        do throws(JSONFieldError) {
            if let text = try object.text("signedPayload") {
                self = .version2(text)
                return
            }
            if let type = try object.text("notification_type"), NotificationBodyV1.isType(type) {
                self = .version1(try NotificationBodyV1(object, type: type))
                return
            }
        } catch {
            throw NotificationRejection(.malformedNotification, "\(error)")
        }
        throw NotificationRejection(
            .malformedNotification, "the body has neither signedPayload nor a valid notification_type")
    }
}

/// The relevant fields of a version 1 notification. Only the receipt in it is signed.
struct NotificationBodyV1 {
    /// `notification_type`, for example `DID_RENEW`; at most 128 bytes.
    let type: String
    let password: SharedSecret?
    /// `bid`. It is not signed, so the password must be one of that app's secrets.
    let bundleId: String?
    /// The environment according to the body (`PROD` or `Sandbox`). It is not signed, so it is only a hint.
    let environment: AppStoreEnvironment
    /// `unified_receipt.latest_receipt` or, if that is absent, `latest_receipt`; base64.
    let receipt: Redacted<[UInt8]>?
    /// Transactions that the body names, those of its top level first, at most eight. Each is named by its original
    /// transaction id if present, otherwise by its transaction id.
    let transactionIds: [TransactionIdentifier]
    /// The body with its passwords masked. Its digest identifies the notification.
    let redacted: String

    /// Returns whether a text can be a type: 1 to 128 printable ASCII characters without spaces. A type is not signed, and
    /// is stored and logged. Apple's longest one has about 30 characters.
    static func isType(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    private static let maximumIdentifiers = 8
    /// Maximum number of rows that are read from a list; Apple's lists are not longer.
    private static let maximumRows = 100

    init(_ object: JSONObject, type: String) throws(JSONFieldError) {
        self.type = type
        password = try object.text("password").map { SharedSecret($0) }
        bundleId = try object.text("bid")
        environment = try object.text("environment") == "Sandbox" ? .sandbox : .production
        let unified = try object.object("unified_receipt")
        var text = try unified?.text("latest_receipt")
        if text == nil { text = try object.text("latest_receipt") }
        receipt = text.map { Redacted(Array($0.utf8)) }
        var rows = [object]
        // Objects that version 1 notifications contained until 2021.
        for name in ["latest_receipt_info", "latest_expired_receipt_info"] as [StaticString] {
            if let row = try? object.object(name) { rows.append(row) }
        }
        for name in ["latest_receipt_info", "pending_renewal_info"] as [StaticString] {
            rows += try unified?.objects(name)?.prefix(Self.maximumRows) ?? []
        }
        var distinct: [TransactionIdentifier] = []
        for row in rows {
            if let identifier = Self.identifier(in: row), !distinct.contains(identifier) { distinct.append(identifier) }
        }
        transactionIds = Array(distinct.prefix(Self.maximumIdentifiers))
        redacted = Self.redacted(object.bytes)
    }

    /// Returns the identifier of the purchase that an object is about.
    private static func identifier(in object: JSONObject) -> TransactionIdentifier? {
        identifier("original_transaction_id", in: object) ?? identifier("transaction_id", in: object)
    }

    /// Reads an identifier that is a number of up to 18 digits or a text.
    private static func identifier(_ name: StaticString, in object: JSONObject) -> TransactionIdentifier? {
        let text =
            (try? object.integer(name)).flatMap { $0 }.map { String($0) }
            ?? (try? object.text(name)).flatMap { $0 }
        return text.flatMap(TransactionIdentifier.init(rawValue:))
    }

    /// Returns the body with `"***"` instead of every password. Member names with escapes match too, for example
    /// `pass\u0077ord`.
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
package enum CanonicalNotificationBody {
    private static let begin = Array(#"{"signedPayload":""#.utf8)
    private static let end = Array(#""}"#.utf8)

    /// Returns `{"signedPayload":"eyJ…"}`.
    ///
    /// - Parameter text: a compact JWS, which needs no escaping.
    package static func version2(_ text: String) -> [UInt8] { begin + Array(text.utf8) + end }

    /// Returns whether a body equals the canonical body byte for byte.
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
