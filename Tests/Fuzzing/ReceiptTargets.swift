import Foundation
@testable import ReceiptDecoding
import StoreTypes

/// Receipts in both styles, whole and behind their signature.
enum ReceiptTargets {
    private static let decoder = ReceiptDecoder(trust: FuzzTrust.seeds, profile: .apple)
    private static let lenient = ReceiptDecoder(trust: FuzzTrust.seeds, profile: .tolerant)
    private static let stranger = ReceiptDecoder(trust: FuzzTrust.apple, profile: .tolerant)

    /// What is signed in the seeds: nobody here has the keys to sign anything else.
    private static let signed = Set(
        FuzzTrust.contents(of: "receipt").map { bytes in
            FuzzTrust.made { Statement(try decoder.decode(Base64.encode(bytes).span).contents) }
        })

    /// The bytes of a receipt, DER or property list.
    static func receipt(_ bytes: [UInt8]) {
        let text = Base64.encode(bytes)
        let strict = try? decoder.decode(text.span)
        let inspection = lenient.inspect(text.span)
        if let contents = inspection.contents { Rendered.check(contents) }
        require(strict == nil || inspection.isVerified, "what the apple profile takes, the tolerant one takes")
        guard inspection.isVerified, let contents = inspection.contents else { return }
        require(signed.contains(Statement(contents)), "what is authentic was signed")
        require(!stranger.inspect(text.span).isVerified, "nobody's receipt is authentic below other roots")
    }

    /// What is signed in an App Receipt. Before the signature and after it must mean the same.
    static func attributes(_ bytes: [UInt8]) {
        guard let receipt = try? AppReceipt(attributes: bytes.span) else { return }
        let outline = FuzzTrust.made { try AppReceiptAttributes.outline(of: bytes.span) }
        require(outline.receiptType == receipt.receiptType, "one type")
        require(outline.bundleId == receipt.bundleId, "one bundle id")
        require(outline.receiptCreationDate == receipt.receiptCreationDate, "one date")
        Rendered.check(.app(receipt))
    }

    /// What is signed in a transactionReceipt.
    static func purchaseInfo(_ bytes: [UInt8]) {
        let info = String(decoding: Base64.encode(bytes), as: UTF8.self)
        let list = Array("{\"signature\" = \"AA==\"; \"purchase-info\" = \"\(info)\"; environment = Sandbox;}".utf8)
        let inspection = decoder.inspect(Base64.encode(list).span)
        require(!inspection.isVerified, "nothing without a signature is authentic")
        if let contents = inspection.contents { Rendered.check(contents) }
    }

    /// What a receipt says as far as it is signed.
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
