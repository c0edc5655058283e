import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Verdict of a rejected receipt")
struct VerdictTests {
    @Test("A receipt of a form that Apple might introduce is not judged, and names its form")
    func notJudged() throws {
        for (name, code, bytes) in try MintedReceipts.notJudged(by: MintedReceipts.pki) {
            let failure = try #require(try Decoders.apple.refusal(of: bytes), "\(name)")
            #expect(failure.code == code, "\(name): \(failure)")
            #expect(failure.verdict == .notJudged, "\(name)")
        }
    }

    // T8
    @Test("The same receipts made by anyone but Apple are forged, unless their issuer is unknown")
    func madeByOthers() throws {
        for (name, code, bytes) in try MintedReceipts.notJudged(by: MintedReceipts.foreign) {
            let failure = try #require(try Decoders.apple.refusal(of: bytes), "\(name)")
            #expect(failure.verdict == (code == .issuerUnknown ? .notJudged : .forged), "\(name): \(failure)")
        }
    }

    // T8
    @Test("What was changed in a receipt of Apple's is forged, also if its form is unknown")
    func changed() throws {
        let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
        let richer = MintedReceipts.content { $0.purchases[2].quantity = 99 }.payload()
        func unknownDigest(_ bytes: [UInt8]) -> [UInt8] { bytes.replacing(sha256, with: sha256.dropLast() + [0x0A]) }
        let signed = try MintedReceipts.app()
        let list = try MintedReceipts.transaction(version: 4) { $0.writtenVersion = 5 }
        let pki = try MintedReceipts.pki
        let authorities = [pki.developerRelations.certificate, pki.root.certificate]
        let rows: [(String, [UInt8], ReceiptDecodingError.ReceiptVerdict)] = [
            ("an unknown digest", unknownDigest(signed), .notJudged),
            ("an unknown digest and a junk signature", unknownDigest(signed.dropLast(200) + Self.junk(200)), .forged),
            (
                "an unknown digest and other content",
                unknownDigest(try MintedReceipts.app { $0.swappedPayload = richer }), .forged
            ),
            (
                "two signers and other content",
                try MintedReceipts.app { ($0.signerCount, $0.swappedPayload) = (2, richer) }, .forged
            ),
            ("no leaf", try MintedReceipts.app { $0.certificates = authorities }, .forged),
            ("no certificate", try MintedReceipts.app { $0.certificates = [] }, .forged),
            ("a SEQUENCE that is no container", DEREncoder.sequence([DEREncoder.octetString(Self.junk(600))]), .forged),
            ("version 5", list, .notJudged),
            ("version 5 of random bytes", try Self.list(signature: [5] + Self.junk(1_500)), .forged),
            (
                "version 5 with another certificate",
                try Self.list(signature: [5] + Self.junk(256) + [0, 0, 4, 0] + Self.junk(1_024)), .forged
            ),
            (
                "version 5 with Apple's certificate and a junk signature",
                try Self.list(signature: [5] + Self.junk(256) + Self.leaf()), .forged
            ),
            ("another root", try MintedReceipts.app(signer: MintedReceipts.foreign.receiptSigner), .forged),
            ("a changed quantity", try MintedReceipts.app { $0.swappedPayload = richer }, .forged),
            ("no signer", try MintedReceipts.app { $0.signerCount = 0 }, .forged),
            ("a developer's certificate", try MintedReceipts.app(signer: pki.developerCertificate()), .forged),
            ("cut", Array(signed.dropLast(100)), .notAReceipt), ("a web page", Array("<html>".utf8), .notAReceipt),
            ("a property list of something else", Array("{a = b;}".utf8), .notAReceipt),
        ]
        for (name, bytes, verdict) in rows {
            #expect(try Decoders.apple.refusal(of: bytes)?.verdict == verdict, "\(name)")
        }
    }

    private static func junk(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) } }

    /// The end of a signature: a certificate of Apple's after its length.
    private static func leaf() throws -> [UInt8] {
        let certificate = try MintedReceipts.pki.receiptLeaf.certificate
        return withUnsafeBytes(of: UInt32(certificate.count).bigEndian) { Array($0) } + certificate
    }

    private static func list(signature: [UInt8]) throws -> [UInt8] {
        let info = TransactionReceiptEncoder.list(MintedReceipts.purchaseInfo())
        return Array(MintedReceipts.plainList(Base64.encode(signature), Base64.encode(info)).utf8)
    }

    @Test("docs/COMPATIBILITY.md lists every reason once, with its verdict")
    func documented() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../docs/COMPATIBILITY.md").standardized
        let text = try String(contentsOf: file, encoding: .utf8)
        let listed = text.matches(of: /\n\| `([a-zA-Z0-9]+)` \| (not a receipt|forged|not judged) \|/)
            .map { "\($0.output.1): \($0.output.2)" }
        let words: [ReceiptDecodingError.ReceiptVerdict: String] = [
            .notAReceipt: "not a receipt", .forged: "forged", .notJudged: "not judged",
        ]
        let expected = ReceiptDecodingError.Code.allCases.map { "\($0.rawValue): \(words[$0.verdict] ?? "")" }
        #expect(listed == expected)
    }
}
