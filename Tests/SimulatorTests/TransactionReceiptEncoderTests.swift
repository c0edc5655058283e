import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("transactionReceipt encoder")
struct TransactionReceiptEncoderTests {
    private static let entries: [TransactionReceiptEncoder.Entry] = [
        .init("product-id", "com.example.app.coins100"), .init("transaction-id", "500000000000001"),
    ]

    private func encoder(_ version: UInt8) throws -> TransactionReceiptEncoder {
        let pki = try SharedSimulator.pki
        return TransactionReceiptEncoder(
            signer: version == 2 ? pki.purchaseSigner : pki.receiptSigner,
            options: .init(version: version, environmentLine: "Sandbox"))
    }

    /// Returns the text between the quotes after a key.
    private func value(_ key: String, _ receipt: [UInt8]) throws -> [UInt8] {
        let text = String(decoding: receipt, as: UTF8.self)
        let rest = try #require(text.components(separatedBy: "\"\(key)\" = \"").dropFirst().first)
        return try #require(Base64.decode(String(rest.prefix { $0 != "\"" })))
    }

    @Test(
        "The signature covers version byte and purchase-info, with SHA-1 and since version 4 with SHA-256",
        arguments: [UInt8(2), 3, 4])
    func signature(version: UInt8) throws {
        let receipt = try encoder(version).encode(purchaseInfo: Self.entries)
        let blob = try value("signature", receipt)
        let width = version == 2 ? 128 : 256
        #expect(blob[0] == version)
        let length = blob[(1 + width)..<(5 + width)].reduce(0) { $0 << 8 | Int($1) }
        #expect(blob.count == 5 + width + length)
        let scratch = try TemporaryFolder()
        try scratch.write("leaf.cer", Array(blob[(5 + width)...]))
        try scratch.write("signature", Array(blob[1...width]))
        try scratch.write("message", [version] + value("purchase-info", receipt))
        #expect(
            try scratch.openssl("x509", "-inform", "DER", "-in", "leaf.cer", "-pubkey", "-noout", "-out", "key").status
                == 0)
        let verdict = try scratch.openssl(
            "dgst", version < 4 ? "-sha1" : "-sha256", "-verify", "key", "-signature", "signature", "message")
        #expect(verdict.status == 0, "\(verdict.errors)")
    }

    @Test("A transactionReceipt has exactly the genuine layout")
    func layout() throws {
        let text = String(decoding: try encoder(3).encode(purchaseInfo: Self.entries), as: UTF8.self)
        #expect(text.hasPrefix("{\n\t\"signature\" = \"A"))
        #expect(
            text.hasSuffix("\n\t\"environment\" = \"Sandbox\";\n\t\"pod\" = \"100\";\n\t\"signing-status\" = \"0\";\n}")
        )
        #expect(Base64.encode(Array(text.utf8)).hasPrefix("ewoJInNpZ25hdHVyZSIgPSAi"))
        let list = String(decoding: TransactionReceiptEncoder.list(Self.entries), as: UTF8.self)
        #expect(
            list
                == "{\n\t\"product-id\" = \"com.example.app.coins100\";\n\t\"transaction-id\" = \"500000000000001\";\n}"
        )
    }

    @Test("Version and certificate length can be falsified, and the environment line can be omitted")
    func options() throws {
        var encoder = try encoder(3)
        encoder.options.environmentLine = nil
        encoder.options.writtenVersion = 9
        encoder.options.writtenCertificateLength = 7
        encoder.options.oneLine = true
        let receipt = try encoder.encode(purchaseInfo: Self.entries)
        let text = String(decoding: receipt, as: UTF8.self)
        #expect(!text.contains("environment"))
        #expect(!text.contains("\n"))
        let blob = try value("signature", receipt)
        #expect(blob[0] == 9)
        #expect(Array(blob[257..<261]) == [0, 0, 0, 7])
    }
}
