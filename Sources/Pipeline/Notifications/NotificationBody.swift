import JSONReading
import StoreTypes

/// The body of a notification, told apart by its keys and not by its URL: a requested test comes in the form of version
/// 2 even where version 1 is configured.
///
///     version 2: { "signedPayload": "eyJ…" }
///     version 1: { "notification_type": "…", "password": "…", "bid": "…", "environment": "PROD", … }
///
/// https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2
/// https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv1
enum NotificationBody {
    /// The compact JWS.
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
            // Apple's have thirty; this one is not signed, and goes into the log.
            if let type = try object.text("notification_type"), type.utf8.count <= 128 {
                self = .version1(try NotificationBodyV1(object, type: type))
                return
            }
        } catch {
            throw NotificationRejection(.malformedNotification, "\(error)")
        }
        throw NotificationRejection(.malformedNotification, "neither signedPayload nor notification_type is there")
    }
}

/// What counts in a body of version 1. Nothing in it is signed but the receipt.
struct NotificationBodyV1 {
    let type: String
    let password: SharedSecret?
    let bundleId: String?
    /// What it says, `PROD` or `Sandbox`; never taken as true.
    let environment: AppStoreEnvironment
    /// `unified_receipt.latest_receipt`, base64.
    let receipt: Redacted<[UInt8]>?
    /// Transactions that it names, its own first, each by its original one if that is there; at most eight.
    let transactionIds: [TransactionIdentifier]
    /// The body without its password: its digest is the name of the notification.
    let redacted: String

    private static let maximumIdentifiers = 8
    /// Apple's lists are no longer.
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
        // Until 2021.
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

    private static func identifier(in object: JSONObject) -> TransactionIdentifier? {
        identifier("original_transaction_id", in: object) ?? identifier("transaction_id", in: object)
    }

    /// A number of up to 18 digits, or a text.
    private static func identifier(_ name: StaticString, in object: JSONObject) -> TransactionIdentifier? {
        let text =
            (try? object.integer(name)).flatMap { $0 }.map { String($0) }
            ?? (try? object.text(name)).flatMap { $0 }
        return text.flatMap(TransactionIdentifier.init(rawValue:))
    }

    /// With asterisks in place of every password, however its name is spelled.
    private static func redacted(_ bytes: [UInt8]) -> String {
        let span = bytes.span
        var passwords: [Range<Int>] = []
        var scanner = JSONScanner()
        // It was an object a moment ago.
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
