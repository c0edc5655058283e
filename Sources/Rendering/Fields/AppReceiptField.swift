package import ReceiptDecoding
package import StoreTypes

/// The properties of an ``AppReceipt``, and the time of the request, which Apple writes next to them.
package enum AppReceiptField: String, ModelField {
    case receiptType, appAppleId, bundleId, applicationVersion, opaqueValue, sha1Hash, deviceReceiptDate, ageRating
    case receiptCreationDate, clientSystemVersion, downloadId, versionExternalIdentifier, originalPurchaseDate
    case originalApplicationVersion, expirationDate, platform, purchases, unknownAttributes, requestDate
    /// Only in Apple's responses, because no attribute of the receipt holds it.
    case preorderDate

    package static let modelName = "AppReceipt"
    package static let place = "receipt"

    package var kind: ValueKind {
        switch self {
        case .receiptType, .bundleId, .applicationVersion, .ageRating, .originalApplicationVersion: .text
        case .appAppleId, .clientSystemVersion, .downloadId, .versionExternalIdentifier, .platform: .number
        case .opaqueValue, .sha1Hash: .bytes
        case .deviceReceiptDate, .receiptCreationDate, .originalPurchaseDate, .expirationDate, .requestDate,
            .preorderDate:
            .instant
        case .purchases: .nested
        case .unknownAttributes: .attributes
        }
    }

    /// Returns the value of the property; `nil` if the receipt does not have it. Also `nil` for ``purchases``, which
    /// are nested objects, and for ``preorderDate``.
    package func value(of receipt: AppReceipt, requestDate: Timestamp?) -> FieldValue? {
        switch self {
        case .receiptType: receipt.receiptType.map(FieldValue.text)
        case .appAppleId: receipt.appAppleId.map(FieldValue.number)
        case .bundleId: receipt.bundleId.map(FieldValue.text)
        case .applicationVersion: receipt.applicationVersion.map(FieldValue.text)
        case .opaqueValue: receipt.opaqueValue.map(FieldValue.bytes)
        case .sha1Hash: receipt.sha1Hash.map(FieldValue.bytes)
        case .deviceReceiptDate: receipt.deviceReceiptDate.map(FieldValue.instant)
        case .ageRating: receipt.ageRating.map(FieldValue.text)
        case .receiptCreationDate: receipt.receiptCreationDate.map(FieldValue.instant)
        case .clientSystemVersion: receipt.clientSystemVersion.map(FieldValue.number)
        case .downloadId: receipt.downloadId.map(FieldValue.number)
        case .versionExternalIdentifier: receipt.versionExternalIdentifier.map(FieldValue.number)
        case .originalPurchaseDate: receipt.originalPurchaseDate.map(FieldValue.instant)
        case .originalApplicationVersion: receipt.originalApplicationVersion.map(FieldValue.text)
        case .expirationDate: receipt.expirationDate.map(FieldValue.instant)
        case .platform: receipt.platform.map(FieldValue.number)
        case .purchases, .preorderDate: nil
        case .unknownAttributes: .attributes(receipt.unknownAttributes)
        case .requestDate: requestDate.map(FieldValue.instant)
        }
    }
}
