import Foundation
import ReceiptDecoding
import Simulator
import Testing
import TestSupport

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

    @Test("Each of these receipts is refused for what is provably wrong in it")
    func forged() throws {
        let richer = MintedReceipts.content { $0.purchases[2].quantity = 99 }.payload()
        let developer = try MintedReceipts.pki.developerCertificate()
        let rows: [(String, [UInt8], ReceiptDecodingError.Verdict)] = [
            ("another root", try MintedReceipts.app(signer: MintedReceipts.foreign.receiptSigner), .forged),
            ("a changed quantity", try MintedReceipts.app { $0.swappedPayload = richer }, .forged),
            ("no signer", try MintedReceipts.app { $0.signerCount = 0 }, .forged),
            ("a developer's certificate", try MintedReceipts.app(signer: developer), .forged),
            ("cut", Array(try MintedReceipts.app().dropLast(100)), .notAReceipt),
            ("a web page", Array("<html>".utf8), .notAReceipt),
            ("a property list of something else", Array("{a = b;}".utf8), .notAReceipt),
        ]
        for (name, bytes, verdict) in rows {
            #expect(try Decoders.apple.refusal(of: bytes)?.verdict == verdict, "\(name)")
        }
    }

    @Test("docs/COMPATIBILITY.md lists every reason once, with its verdict")
    func documented() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../docs/COMPATIBILITY.md").standardized
        let text = try String(contentsOf: file, encoding: .utf8)
        let listed = text.matches(of: /\n\| `([a-zA-Z0-9]+)` \| (not a receipt|forged|not judged) \|/)
            .map { "\($0.output.1): \($0.output.2)" }
        let words: [ReceiptDecodingError.Verdict: String] = [
            .notAReceipt: "not a receipt", .forged: "forged", .notJudged: "not judged",
        ]
        let expected = ReceiptDecodingError.Code.allCases.map { "\($0.rawValue): \(words[$0.verdict] ?? "")" }
        #expect(listed == expected)
    }
}
