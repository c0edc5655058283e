import Foundation
@testable import ReceiptDecoding
import StoreTypes

/// Fuzzes receipts of both styles: as a whole, and their signed contents.
enum ReceiptTargets {
    private static let decoder = ReceiptDecoder(trust: FuzzTrust.seeds, profile: .apple)
    private static let lenient = ReceiptDecoder(trust: FuzzTrust.seeds, profile: .tolerant)
    private static let stranger = ReceiptDecoder(trust: FuzzTrust.apple, profile: .tolerant)

    /// The signed contents of the seeds. Nothing else can be authentic, because the keys no longer exist.
    private static let signed = Set(
        FuzzTrust.contents(of: "receipt").map { bytes in
            FuzzTrust.made { Statement(try decoder.decode(Base64.encode(bytes).span).contents) }
        })

    /// Fuzzes the bytes of a receipt, DER or property list.
    static func receipt(_ bytes: [UInt8]) {
        let text = Base64.encode(bytes)
        let strict = try? decoder.decode(text.span)
        let inspection = lenient.inspect(text.span)
        if let contents = inspection.contents { Rendered.check(contents) }
        require(strict == nil || inspection.isVerified, "the tolerant profile accepts what the apple profile accepts")
        guard inspection.isVerified, let contents = inspection.contents else { return }
        require(signed.contains(Statement(contents)), "authentic contents are those of a seed")
        require(!stranger.inspect(text.span).isVerified, "no receipt is authentic below other roots")
    }

    /// Fuzzes the signed contents of an App Receipt. Reading them before and after the signature check must give the
    /// same values.
    static func attributes(_ bytes: [UInt8]) {
        guard let receipt = try? AppReceipt(attributes: bytes.span) else { return }
        let outline = FuzzTrust.made { try AppReceiptAttributes.outline(of: bytes.span) }
        require(
            outline.receiptType == receipt.receiptType,
            "the receipt type is the same before and after the signature check")
        require(outline.bundleId == receipt.bundleId, "the bundle id is the same before and after the signature check")
        require(
            outline.receiptCreationDate == receipt.receiptCreationDate,
            "the creation date is the same before and after the signature check")
        Rendered.check(.app(receipt))
    }

    /// Fuzzes the signed list of a transactionReceipt.
    static func purchaseInfo(_ bytes: [UInt8]) {
        let info = String(decoding: Base64.encode(bytes), as: UTF8.self)
        let list = Array("{\"signature\" = \"AA==\"; \"purchase-info\" = \"\(info)\"; environment = Sandbox;}".utf8)
        let inspection = decoder.inspect(Base64.encode(list).span)
        require(!inspection.isVerified, "a receipt without a signature is not authentic")
        if let contents = inspection.contents { Rendered.check(contents) }
    }

    /// The signed contents of a receipt.
    private enum Statement: Hashable {
        case app(AppReceipt)
        case purchaseInfo([TransactionReceipt.Entry])

        init(_ contents: ReceiptContents) {
            switch contents {
            case .app(let receipt): self = .app(receipt)
            case .transaction(let receipt): self = .purchaseInfo(receipt.purchaseInfo)
            }
        }
    }
}
