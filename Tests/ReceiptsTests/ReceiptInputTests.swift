import ReceiptBridgeBase
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Text of a receipt")
struct ReceiptInputTests {
    /// An App Receipt and a transactionReceipt whose base64 ends in `==`.
    struct Samples: Sendable {
        let app: [UInt8]
        let transaction: [UInt8]

        init() throws {
            app =
                try (1...9).lazy.map { seed in
                    try MintedReceipts.app(content: MintedReceipts.content { $0.opaqueSeed = UInt64(seed) })
                }.first { $0.count % 3 == 1 } ?? []
            transaction =
                try (0...9).lazy.map { pod in
                    try MintedReceipts.transaction { $0.pod = String(repeating: "4", count: pod) }
                }.first { $0.count % 3 == 1 } ?? []
        }

        private static let made = Result { try Samples() }
        static var shared: Samples { get throws { try made.get() } }
    }

    static func lines(_ text: String, _ width: Int, _ separator: String) -> String {
        ReceiptEncodingVariant.lines(text, width: width, separator: separator)
    }

    /// Sets the four unused bits of the last character before `==`.
    static func setLowBits(_ text: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        var characters = Array(text)
        let last = characters.count - 3
        if let index = alphabet.firstIndex(of: characters[last]) { characters[last] = alphabet[index | 0x0F] }
        return String(characters)
    }

    /// A change of the base64, and the expected result for each style and profile.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let change: @Sendable (String) -> String
        /// The error of Apple's endpoint for an App Receipt; `nil` if it is accepted.
        let app: ReceiptDecodingError.Code?
        /// The error of Apple's endpoint for a transactionReceipt; `nil` if it is accepted.
        let transaction: ReceiptDecodingError.Code?
        let repairs: [ReceiptRepair]

        init(
            _ name: String, app: ReceiptDecodingError.Code?, transaction: ReceiptDecodingError.Code?,
            repairs: [ReceiptRepair], _ change: @escaping @Sendable (String) -> String
        ) {
            (self.name, self.app, self.transaction, self.repairs, self.change) =
                (name, app, transaction, repairs, change)
        }

        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row("as Apple writes it", app: nil, transaction: nil, repairs: []) { $0 },
        Row("low bits of the last character set", app: nil, transaction: nil, repairs: []) { setLowBits($0) },
        Row("no padding", app: .notBase64, transaction: .notBase64, repairs: [.missingPadding]) {
            $0.replacing("=", with: "")
        },
        Row("half the padding", app: .notBase64, transaction: .notBase64, repairs: [.missingPadding]) {
            String($0.dropLast())
        },
        Row("base64url", app: .notBase64, transaction: .notBase64, repairs: [.urlSafeAlphabet]) {
            $0.replacing("+", with: "-").replacing("/", with: "_")
        },
        Row("lines of 64, LF", app: .notBase64, transaction: nil, repairs: [.whitespace]) { lines($0, 64, "\n") },
        Row("lines of 76, CR LF", app: .notBase64, transaction: nil, repairs: [.whitespace]) { lines($0, 76, "\r\n") },
        Row("lines of 64, CR", app: .notBase64, transaction: nil, repairs: [.whitespace]) { lines($0, 64, "\r") },
        Row("a line break at the end", app: .notBase64, transaction: nil, repairs: []) { $0 + "\n" },
        Row("four line breaks at the end", app: .notBase64, transaction: nil, repairs: []) { $0 + "\n\n\n\n" },
        Row("a space at the beginning", app: .notBase64, transaction: nil, repairs: []) { " " + $0 },
        Row("tabs between the lines", app: .notBase64, transaction: nil, repairs: [.whitespace]) {
            lines($0, 40, "\t")
        },
        Row("percent-encoded", app: .notBase64, transaction: .notBase64, repairs: [.percentEncoding]) {
            ReceiptEncodingVariant.percentEncoded($0)
        },
        Row("a data: URL", app: .notBase64, transaction: .notBase64, repairs: [.dataURL]) {
            "data:application/octet-stream;base64," + $0
        },
        Row("a byte order mark", app: .notBase64, transaction: .notBase64, repairs: [.byteOrderMark]) {
            "\u{FEFF}" + $0
        },
        Row("quoted", app: .notBase64, transaction: .notBase64, repairs: [.quotes]) { "\"\($0)\"" },
    ]

    // T15
    @Test(
        "The apple profile accepts what Apple's endpoint accepts, and the tolerant profile repairs the rest",
        arguments: rows)
    func table(row: Row) throws {
        let samples = try Samples.shared
        for (bytes, apple) in [(samples.app, row.app), (samples.transaction, row.transaction)] {
            let plain = MintedReceipts.base64(bytes)
            #expect(plain.suffix(2) == [0x3D, 0x3D])
            let text = Array(row.change(String(decoding: plain, as: UTF8.self)).utf8)
            // The base64 of a property list may contain no character that is different in base64url.
            let expected = text == plain ? nil : apple
            #expect(try Decoders.apple.refusal(ofText: text)?.code == expected)
            if expected == nil {
                #expect(try Decoders.apple.decode(text.span).canonicalText.reveal() == plain)
            }
            let inspection = try Decoders.tolerant.inspect(text.span)
            #expect(inspection.isVerified, "\(inspection.failure as Any)")
            #expect(inspection.repairs == (text == plain ? [] : row.repairs))
            #expect(try Decoders.tolerant.decode(text.span).canonicalText.reveal() == plain)
            #expect(ReceiptDecoder.repaired(text.span) == plain)
        }
    }

    /// Texts that are never a receipt, and the expected error of each profile.
    static let invalid: [(text: String, apple: ReceiptDecodingError.Code, tolerant: ReceiptDecodingError.Code)] = [
        ("", .empty, .empty), (" \r\n\t", .notBase64, .empty), ("\"\"", .notBase64, .empty),
        ("=", .notBase64, .notBase64), ("====", .notBase64, .notBase64), ("A===", .notBase64, .notBase64),
        ("=AAA", .notBase64, .notBase64), ("AA=A", .notBase64, .notBase64), ("AB==CD==", .notBase64, .notBase64),
        ("MIIA", .truncated, .truncated), ("MII", .notBase64, .truncated), ("AAAA", .notAReceipt, .notAReceipt),
        ("null", .notAReceipt, .notAReceipt), ("(null)", .notBase64, .notBase64),
        ("undefined", .notBase64, .notBase64), ("not a receipt", .notBase64, .notBase64),
        ("<html><body>Bad Gateway</body></html>", .notBase64, .notBase64), ("ä", .notBase64, .notBase64),
        ("%", .notBase64, .notBase64), ("%41%", .notBase64, .notBase64), ("data:,", .notBase64, .notBase64),
        ("<>", .notBase64, .notBase64), ("<3>", .notBase64, .notBase64), ("\\", .notBase64, .notBase64),
        ("30", .notBase64, .notAReceipt), ("3082", .notAReceipt, .truncated), ("7b7d", .notAReceipt, .notAReceipt),
        ("{}", .notBase64, .notAReceipt), ("{\"status\":21002}", .notBase64, .notAReceipt),
        ("{\"status\":0,\"receipt\":{\"in_app\":[]}}", .notBase64, .notAReceipt),
        ("{\"receipt-data\":5}", .notBase64, .notAReceipt), ("{\"receipt-data\":\"\"}", .notBase64, .notBase64),
        ("{\"Payload\":\"{}\"}", .notBase64, .notBase64), ("[\"MIIA\"]", .notBase64, .notBase64),
        ("{\"Payload\":", .notBase64, .notAReceipt),
    ]

    // T15
    @Test("A text that is not a receipt has an error code in both profiles", arguments: invalid)
    func refuses(text: String, apple: ReceiptDecodingError.Code, tolerant: ReceiptDecodingError.Code) throws {
        #expect(try Decoders.apple.refusal(ofText: Array(text.utf8))?.code == apple)
        let inspection = try Decoders.tolerant.inspect(Array(text.utf8).span)
        #expect(inspection.failure?.code == tolerant)
        #expect(inspection.contents == nil)
    }

    @Test("A text of 8 MiB is decoded, and a text of one byte more is rejected")
    func size() throws {
        let longest = [UInt8](repeating: UInt8(ascii: "A"), count: 8 << 20)
        #expect(try Decoders.apple.refusal(ofText: longest)?.code == .notAReceipt)
        #expect(try Decoders.apple.refusal(ofText: longest + [0x41])?.code == .tooLarge)
        #expect(try Decoders.tolerant.refusal(ofText: longest + [0x41])?.code == .tooLarge)
    }
}
