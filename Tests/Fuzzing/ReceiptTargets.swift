import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeResponses

@testable import ReceiptBridgeReceipts

/// Fuzzes receipts of both styles: as a whole, and their signed contents.
enum ReceiptTargets {
    private static let decoder = ReceiptDecoder(trust: FuzzTrust.seeds, profile: .apple)
    private static let lenient = ReceiptDecoder(trust: FuzzTrust.seeds, profile: .tolerant)
    /// A decoder for which every input must fail, because no seed was signed by Apple.
    private static let stranger = ReceiptDecoder(trust: FuzzTrust.apple, profile: .tolerant)

    /// The signed contents of the seeds. Nothing else can be authentic, because the keys no longer exist.
    private static let signed = Set(
        FuzzTrust.contents(of: "receipt").map { bytes in
            FuzzTrust.made { Statement(try decoder.decode(Base64Text.encode(bytes).span).contents) }
        })

    /// Fuzzes the bytes of a receipt, DER or property list.
    static func receipt(_ bytes: [UInt8]) {
        let text = Base64Text.encode(bytes)
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
        guard let receipt = try? AppReceipt(attributes: bytes, in: 0..<bytes.count) else { return }
        let outline = FuzzTrust.made { try AppReceiptAttributes.outline(of: bytes.span) }
        require(
            bytes.span.text(outline.receiptType) == receipt.receiptType,
            "the receipt type is the same before and after the signature check")
        require(
            bytes.span.text(outline.bundleId) == receipt.bundleId,
            "the bundle id is the same before and after the signature check")
        require(
            outline.receiptCreationDate == receipt.receiptCreationDate,
            "the creation date is the same before and after the signature check")
        Rendered.check(.app(receipt))
    }

    static func purchaseInfo(_ bytes: [UInt8]) {
        let info = String(decoding: Base64Text.encode(bytes), as: UTF8.self)
        let list = Array("{\"signature\" = \"AA==\"; \"purchase-info\" = \"\(info)\"; environment = Sandbox;}".utf8)
        let inspection = decoder.inspect(Base64Text.encode(list).span)
        require(!inspection.isVerified, "a receipt without a signature is not authentic")
        if let contents = inspection.contents { Rendered.check(contents) }
    }

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

/// Fuzzes certificates and keys from an untrusted source. CVE-2026-43823 was such a key in another library.
enum CertificateTarget {
    static func run(_ bytes: [UInt8]) {
        let signature = [UInt8](repeating: 1, count: 256)
        for digest in [DigestAlgorithm.sha1, .sha256] {
            if let key = try? VerifyingKey(publicKeyInfo: bytes.span) {
                let holds: Void? = try? key.verify(signature.span, over: bytes.span, digest: digest)
                require(holds == nil, "no key verifies a signature of ones")
            }
        }
        if let certificate = try? Certificate(der: bytes.span) {
            require(certificate.der == bytes, "a certificate has only one encoding")
            _ = certificate.hasExtension(SignerRole.storeReceipt.leafMarker)
            _ = try? certificate.publicKey()
        }
        let signer = PresentedSigner(leaf: bytes.indices, authorities: [bytes.indices])
        for role in [SignerRole.storeReceipt, .purchaseReceipt] {
            let key = try? FuzzTrust.seeds.key(of: signer, in: bytes.span, role: role, time: .at(1_795_262_400))
            require(key == nil, "no seed is the certificate of a receipt signer")
        }
    }
}

/// Checks that the output for a receipt is valid JSON, whatever the receipt contains, authentic or not.
enum Rendered {
    private static let camelCase = CamelCaseRenderer(tables: .bundled)
    private static let answers = VerifyReceiptRenderer(tables: .bundled)
    /// A fixed time, so that an input always has the same result: 2026-11-21T12:00:00Z.
    static let now = Timestamp(seconds: 1_795_262_400)

    static func check(_ contents: ReceiptContents) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("receipt")
        camelCase.writeReceipt(contents, into: &writer)
        writer.key("transactions")
        camelCase.writeTransactions(of: contents, into: &writer)
        writer.endObject()
        isJSON(writer.finish())
        let history = PurchaseHistory(
            receipt: contents, environment: contents.environment ?? .production, submittedText: Redacted([]))
        isJSON(answers.receiptAnswer(history: history, requestDate: now).body)
    }

    static func isJSON(_ text: [UInt8]) {
        require((try? JSONObject(text)) != nil, "the output is JSON")
        require(String(validating: text, as: UTF8.self) != nil, "the output is UTF-8")
    }
}
