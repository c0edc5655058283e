import ReceiptBridgeBase
import Foundation
import ReceiptBridgeReceipts
import Testing

/// Reads the contents of well-formed receipts without the decoder, for comparing responses. It trusts every byte.
enum BlobReader {
    static func appReceipt(_ blob: Data) throws -> AppReceipt {
        let signedData = try children(of: try children(of: try children(of: [UInt8](blob))[0])[1])[0]
        let content = try children(of: try children(of: signedData)[2])[1]
        let payload = try children(of: try children(of: content)[0])[0]
        var receipt = AppReceipt()
        for (type, value) in try attributes(payload) {
            switch type {
            case 0: receipt.receiptType = try string(value)
            case 1: receipt.appAppleId = try number(value)
            case 2: receipt.bundleId = try string(value)
            case 3: receipt.applicationVersion = try string(value)
            case 12: receipt.receiptCreationDate = try date(value)
            case 15: receipt.downloadId = try number(value)
            case 16: receipt.versionExternalIdentifier = try number(value)
            case 17: receipt.purchases.append(try purchase(try attributes(try children(of: value)[0])))
            case 18: receipt.originalPurchaseDate = try date(value)
            case 19: receipt.originalApplicationVersion = try string(value)
            default: break
            }
        }
        return receipt
    }

    /// Reads an iOS 6 receipt in the form that Apple's clients send: one entry in each line.
    static func transactionReceipt(_ blob: Data) throws -> TransactionReceipt {
        let outer = entries(blob)
        let info = try #require(outer.first { $0.key == "purchase-info" })
        return TransactionReceipt(purchaseInfo: entries(try #require(Data(base64Encoded: info.value))))
    }

    private static func entries(_ list: Data) -> [TransactionReceipt.Entry] {
        String(decoding: list, as: UTF8.self).matches(of: /"([^"]*)" = "([^"]*)";/)
            .map { TransactionReceipt.Entry(key: String($0.1), value: String($0.2)) }
    }

    private static func purchase(_ attributes: [(type: Int64, value: [UInt8])]) throws -> InAppPurchase {
        var purchase = InAppPurchase()
        for (type, value) in attributes {
            switch type {
            case 1701: purchase.quantity = try number(value)
            case 1702: purchase.productId = try string(value)
            case 1703: purchase.transactionId = try string(value)
            case 1704: purchase.purchaseDate = try date(value)
            case 1705: purchase.originalTransactionId = try string(value)
            case 1706: purchase.originalPurchaseDate = try date(value)
            case 1707: purchase.productType = ReceiptProductType(rawValue: try number(value))
            case 1708: purchase.expiresDate = try date(value)
            case 1711: purchase.webOrderLineItemId = try number(value)
            case 1712: purchase.cancellationDate = try date(value)
            case 1713: purchase.isTrialPeriod = try number(value)
            case 1719: purchase.isInIntroOfferPeriod = try number(value)
            case 1720: purchase.cancellationReason = try number(value)
            case 1722: purchase.ownershipType = try number(value)
            default: break
            }
        }
        return purchase
    }

    private static func attributes(_ set: [UInt8]) throws -> [(type: Int64, value: [UInt8])] {
        try children(of: set).map { attribute in
            let parts = try children(of: attribute)
            return (parts[0].reduce(0) { $0 << 8 | Int64($1) }, parts[2])
        }
    }

    private static func number(_ value: [UInt8]) throws -> Int64 {
        try children(of: value)[0].reduce(0) { $0 << 8 | Int64($1) }
    }

    private static func string(_ value: [UInt8]) throws -> String? {
        let text = String(decoding: try children(of: value)[0], as: UTF8.self)
        return text.isEmpty ? nil : text
    }

    private static func date(_ value: [UInt8]) throws -> Timestamp? {
        try string(value).map { text in
            Timestamp(seconds: Int64(try Date(text, strategy: .iso8601).timeIntervalSince1970))
        }
    }

    private static func children(of bytes: [UInt8]) throws -> [[UInt8]] {
        var children: [[UInt8]] = []
        var index = 0
        while index + 1 < bytes.count {
            var length = Int(bytes[index + 1])
            index += 2
            if length > 0x80 {
                let end = index + length & 0x7F
                length = bytes[index..<end].reduce(0) { $0 << 8 | Int($1) }
                index = end
            }
            children.append(Array(bytes[index..<index + length]))
            index += length
        }
        return children
    }
}
