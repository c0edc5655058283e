import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Damaged receipts")
struct MutationTests {
    /// The signed contents of a receipt; for a transactionReceipt, only its inner list.
    struct Statement: Hashable {
        let app: AppReceipt?
        let purchaseInfo: [TransactionReceipt.Entry]?

        init(_ contents: ReceiptContents) {
            switch contents {
            case .app(let receipt): (app, purchaseInfo) = (receipt, nil)
            case .transaction(let receipt): (app, purchaseInfo) = (nil, receipt.purchaseInfo)
            }
        }
    }

    /// Indices of ``MintedReceipts/everyStyle()``: both styles, in two variants each.
    static let styles = 0..<5

    private func sample(_ style: Int) throws -> (name: String, bytes: [UInt8], statement: Statement) {
        let (name, bytes) = try MintedReceipts.everyStyle()[style]
        return (name, bytes, Statement(try Decoders.apple.decode(bytes: bytes).contents))
    }

    // T1
    @Test("A receipt truncated at any offset is rejected", arguments: styles)
    func truncation(style: Int) throws {
        let (name, bytes, _) = try sample(style)
        let decoder = try Decoders.apple
        for count in 0..<bytes.count {
            let failure = decoder.refusal(of: Array(bytes.prefix(count)))
            #expect(failure != nil, "\(name), \(count) bytes of \(bytes.count)")
            #expect(failure?.verdict != .notJudged, "\(name), \(count) bytes: \(failure?.description ?? "")")
        }
    }

    // T1
    @Test("A receipt with one changed bit is rejected or decodes to the same contents", arguments: styles)
    func bitFlips(style: Int) throws {
        var random = SeededGenerator("bit flips")
        let (name, bytes, statement) = try sample(style)
        let decoder = try Decoders.apple
        var accepted = 0
        let count = TestSize.pick(debug: 500, release: 3_000)
        for _ in 0..<count {
            let (byte, bit) = (Int.random(in: 0..<bytes.count, using: &random), UInt8.random(in: 0...7, using: &random))
            var mutant = bytes
            mutant[byte] ^= 1 << bit
            guard let receipt = try? decoder.decode(bytes: mutant) else { continue }
            accepted += 1
            #expect(Statement(receipt.contents) == statement, "\(name), byte \(byte), bit \(bit)")
        }
        // Some bytes are not covered by the signature or not used: the root certificate, and the other lines of the
        // outer list.
        #expect(accepted < count / 2, "\(name)")
    }

    // T1
    @Test(
        "A receipt with changed, repeated, removed and moved bytes is rejected or decodes to the same contents",
        arguments: styles)
    func surgery(style: Int) throws {
        var random = SeededGenerator("surgery")
        let (name, bytes, statement) = try sample(style)
        let decoder = try Decoders.tolerant
        for _ in 0..<TestSize.pick(debug: 150, release: 1_000) {
            var mutant = bytes
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let start = Int.random(in: 0..<mutant.count, using: &random)
                let range = start..<min(start + Int.random(in: 1...64, using: &random), mutant.count)
                switch Int.random(in: 0...4, using: &random) {
                case 0: mutant.removeSubrange(range)
                case 1: mutant.insert(contentsOf: mutant[range], at: Int.random(in: 0...mutant.count, using: &random))
                case 2: mutant.replaceSubrange(range, with: repeatElement(0, count: range.count))
                case 3: mutant.replaceSubrange(range, with: repeatElement(0x80, count: range.count))
                default: mutant[start] = UInt8.random(in: 0...255, using: &random)
                }
                if mutant.isEmpty { mutant = [0x30] }
            }
            let inspection = decoder.inspect(MintedReceipts.base64(mutant).span)
            guard inspection.isVerified, let contents = inspection.contents else { continue }
            #expect(Statement(contents) == statement, "\(name): \(mutant)")
        }
    }

    @Test(
        "A receipt with damaged base64 is rejected or decodes to the same contents, with and without repairs",
        arguments: styles)
    func text(style: Int) throws {
        var random = SeededGenerator("base64")
        let (name, bytes, statement) = try sample(style)
        let decoder = try Decoders.tolerant
        let plain = MintedReceipts.base64(bytes)
        let pieces = [
            "\n", " ", "+", "-", "_", "%2B", "%", "\\/", "\\", "=", "\"", "{", "<", ">", "\0", "é", "data:,", "A",
        ]
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        for turn in 0..<TestSize.pick(debug: 80, release: 1_000) {
            // Every second text stays base64, so that only the signature can tell that its bytes have changed.
            let staysBase64 = turn.isMultiple(of: 2)
            var text = plain
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let offset = Int.random(in: 0..<text.count, using: &random)
                let piece =
                    staysBase64
                    ? [letters.randomElement(using: &random) ?? 0]
                    : Array((pieces.randomElement(using: &random) ?? "").utf8)
                if staysBase64 || Bool.random(using: &random) {
                    text.replaceSubrange(offset..<offset + 1, with: piece)
                } else {
                    text.insert(contentsOf: piece, at: Bool.random(using: &random) ? 0 : offset)
                }
            }
            _ = decoder.claims(of: text.span)
            let inspection = decoder.inspect(text.span)
            guard inspection.isVerified, let contents = inspection.contents else { continue }
            #expect(Statement(contents) == statement, "\(name): \(String(decoding: text, as: UTF8.self))")
        }
    }

    @Test("A sandbox receipt never becomes a production receipt")
    func environment() throws {
        var random = SeededGenerator("environment")
        let bytes = try MintedReceipts.transaction(
            purchaseInfo: MintedReceipts.purchaseInfo(transactionId: "2000000046178817")
        ) { $0.environmentLine = "Sandbox" }
        let line = try #require(bytes.firstRange(of: Array("\"environment\" = \"Sandbox\"".utf8)))
        for _ in 0..<500 {
            var mutant = bytes
            mutant[Int.random(in: line, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
            guard let receipt = try? Decoders.apple.decode(bytes: mutant) else { continue }
            #expect(receipt.environment == .sandbox)
        }
    }
}
