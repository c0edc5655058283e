import ReceiptBridgeBase
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Receipts with other characters between their own")
struct MarkedReceiptTests {
    /// What was put between the characters of a receipt.
    struct Shape: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let repairs: [ReceiptRepair]
        /// Whether the tolerant profile does not look for it, because other text is around the receipt.
        let isEmbedded: Bool
        let mark: @Sendable (String) -> String

        init(
            _ name: String, _ repairs: [ReceiptRepair], isEmbedded: Bool = false,
            _ mark: @escaping @Sendable (String) -> String
        ) {
            (testDescription, self.repairs, self.isEmbedded, self.mark) = (name, repairs, isEmbedded, mark)
        }
    }

    private static func lines(_ text: String, _ separator: String, _ width: Int = 76) -> String {
        ReceiptEncodingVariant.lines(text, width: width, separator: separator)
    }

    private static func numbered(_ text: String, _ prefix: (Int) -> String) -> String {
        lines(text, "\n").split(separator: "\n").enumerated().map { prefix($0 + 1) + $1 }.joined(separator: "\n")
    }

    /// Characters that are not letters as references.
    private static func references(_ text: String, _ begin: String) -> String {
        text.replacing("=", with: "\(begin)61;").replacing("+", with: "&plus;").replacing("/", with: "\(begin)x2F;")
    }

    static let shapes: [Shape] = [
        // What is left of escaped line breaks.
        Shape("rn after lines of 76", [.marks]) { lines($0, "rn") },
        Shape("n after lines of 64", [.marks]) { lines($0, "n", 64) },
        Shape("n after each line, also the last", [.marks]) { lines($0.filter { $0 != "=" }, "n", 64) + "n" },
        Shape("two breaks after each line", [.marks]) { lines($0, "rnrn") },
        Shape("u000a after each line", [.marks]) { lines($0, "u000a") },
        Shape("n and a line break after each line", [.marks]) { lines($0, "n\n") },
        Shape("rn and n mixed", [.marks]) { text in
            lines(text, "\n").split(separator: "\n").enumerated().map { $1 + ($0 % 3 == 0 ? "n" : "rn") }.joined()
        },
        Shape("n before the receipt", [.marks]) { "n" + $0 },
        Shape("rn before the receipt and after each line", [.marks]) { "rn" + lines($0, "rn") },
        // Tags and character references.
        Shape("br", [.whitespace, .marks]) { lines($0, "<br />") },
        Shape("br and a line break", [.whitespace, .marks]) { lines($0, "<br>\n") },
        Shape("wbr between characters of any number", [.markup]) { text in
            var (result, number) = ("", 7)
            for (index, character) in text.enumerated() {
                result.append(character)
                if index == number { (result, number) = (result + "<wbr>", number + 11 + number % 13) }
            }
            return result
        },
        Shape("references to line breaks", [.marks]) { lines($0, "&#13;&#10;") },
        Shape("references to characters", [.markup]) { references($0, "&#") },
        Shape("references that were escaped", [.markup]) { references($0, "&amp;#") },
        // Mail.
        Shape("quotes of mail", [.whitespace, .marks]) { numbered($0) { _ in "> " } },
        Shape("soft breaks of mail", [.whitespace, .marks]) { lines($0, "=\n") },
        Shape("breaks of mail", [.markup, .whitespace]) { lines($0.replacing("=", with: "=3D"), "=0D=0A", 72) },
        // Unicode.
        Shape("no-break spaces", [.marks]) { lines($0, "\u{A0}") },
        Shape("zero-width spaces and joiners", [.marks]) { lines($0, "\u{200B}\u{200D}") },
        Shape("a byte order mark in the middle", [.marks]) { String($0.prefix(100)) + "\u{FEFF}" + $0.dropFirst(100) },
        Shape("spaces for + and a byte order mark", [.marks]) {
            String($0.prefix(100)) + "\u{FEFF}" + $0.dropFirst(100)
        },
        // Source code.
        Shape("concatenation in JavaScript", [.quotes, .whitespace, .marks]) { "'" + lines($0, "' +\n'") + "'" },
        Shape("concatenation in C", [.whitespace, .marks]) { "\"" + lines($0, "\"\n  \"") + "\";" },
        Shape("concatenation in C with escapes", [.jsonEscapes, .whitespace, .marks]) {
            "\"" + lines($0, "\\n\"\n\"") + "\";"
        },
        Shape("concatenation in PHP", [.marks, .whitespace]) { "'" + lines($0, "' .\n '") + "';" },
        Shape("concatenation in Ruby", [.jsonEscapes, .whitespace, .marks]) { "'" + lines($0, "' \\\n'") + "';" },
        Shape("a variable of JavaScript", [.literal, .whitespace, .marks], isEmbedded: true) {
            "var receipt = '" + lines($0, "' +\n    '") + "';"
        },
        Shape("a variable of Python", [.literal, .whitespace, .marks], isEmbedded: true) {
            "receipt = (\n    \"" + lines($0, "\"\n    \"") + "\"\n)\n"
        },
        Shape("a page", [.literal, .whitespace, .marks], isEmbedded: true) {
            "<p>Receipt: " + lines($0, "<br />") + "</p>"
        },
        // Lines with something before them.
        Shape("numbers of lines", [.whitespace, .marks]) { numbered($0) { "\($0): " } },
        Shape("numbers of lines after spaces", [.whitespace, .marks]) { numbered($0) { "   \($0)\t" } },
        Shape("lines of a difference", [.marks]) { numbered($0) { _ in "+" } },
        Shape("bars", [.whitespace, .marks]) { numbered($0) { _ in "| " } },
        // Around the receipt.
        Shape("a log", [.literal], isEmbedded: true) { "2021-03-04 10:11:12 INFO receipt=\($0) user=7" },
        Shape("a header", [.literal], isEmbedded: true) { "Bearer \($0)" },
        Shape("a struct of Go", [.literal], isEmbedded: true) { "&{ReceiptData:\($0) Password:x}" },
        Shape("YAML, folded", [.literal, .whitespace], isEmbedded: true) {
            "---\nreceipt: >-\n  " + lines($0, "\n  ", 80) + "\n"
        },
        Shape("YAML, binary", [.literal, .whitespace], isEmbedded: true) {
            "---\n:receipt: !binary |-\n  " + lines($0, "\n  ", 60) + "\n"
        },
    ]

    private static let decoder = Result { try MintedReceipts.decoder(.stored) }

    @Test("What is between the characters is dropped, and the repair is reported", arguments: shapes)
    func finds(shape: Shape) throws {
        let samples = try ReceiptInputTests.Samples.shared
        for bytes in [samples.app, samples.transaction] {
            let plain = MintedReceipts.base64(bytes)
            let text = Array(shape.mark(String(decoding: plain, as: UTF8.self)).utf8)
            for decoder in [try Self.decoder.get(), try Decoders.tolerant] {
                let inspection = decoder.inspect(text.span)
                if shape.isEmbedded, decoder.profile == .tolerant {
                    #expect(inspection.failure?.code != .truncated)
                    continue
                }
                #expect(inspection.isVerified, "\(bytes.count) \(decoder.profile): \(inspection.failure as Any)")
                #expect(Set(inspection.repairs) == Set(shape.repairs), "\(bytes.count) \(decoder.profile)")
                #expect(try decoder.decode(text.span).canonicalText.reveal() == plain)
            }
        }
    }

    @Test("The rest of line breaks after the receipt is removed", arguments: ["n", "rn", "rnrn"])
    func after(rest: String) throws {
        let samples = try ReceiptInputTests.Samples.shared
        for (bytes, repairs) in [(samples.app, [.trailingBytes]), (samples.transaction, [.marks])]
            as [([UInt8], [ReceiptRepair])]
        {
            let text = Array((Base64.encode(bytes) + rest).utf8)
            for decoder in [try Self.decoder.get(), try Decoders.tolerant] {
                let inspection = decoder.inspect(text.span)
                #expect(inspection.isVerified && inspection.repairs == repairs, "\(inspection.failure as Any)")
            }
        }
    }

    // T1
    @Test(
        "Other characters anywhere are dropped; without one of its own characters, or with another, no receipt is found"
    )
    func anywhere() throws {
        var random = SeededGenerator("marks")
        let foreign = [
            "\n", "\"", "' +\n'", "\u{A0}", "\u{200B}", ", ", "|", "> ", "\u{FEFF}", "\t", "*", "<wbr>", "…",
        ]
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        let samples = try ReceiptInputTests.Samples.shared
        for bytes in [samples.app, samples.transaction] {
            let plain = MintedReceipts.base64(bytes)
            let signed = MutationTests.Statement(try Decoders.apple.decode(bytes: bytes).contents)
            for _ in 0..<TestSize.pick(debug: 30, release: 400) {
                let mark = Array(try #require(foreign.randomElement(using: &random)).utf8)
                let places = Set(
                    (0..<Int.random(in: 1...9, using: &random)).map { _ in
                        Int.random(in: 1..<plain.count - 3, using: &random)
                    })
                func marked(_ text: [UInt8]) -> [UInt8] {
                    text.indices.flatMap { places.contains($0) ? mark + [text[$0]] : [text[$0]] }
                }
                let text = marked(plain)
                if mark != Array("' +\n'".utf8) {
                    let receipt = try? Decoders.tolerant.decode(text.span)
                    #expect(receipt?.canonicalText.reveal() == plain, "\(String(decoding: text, as: UTF8.self))")
                }
                let place = Int.random(in: 0..<plain.count - 4, using: &random)
                var (shorter, other) = (plain, plain)
                shorter.remove(at: place)
                other[place] = try #require(alphabet.filter { $0 != plain[place] }.randomElement(using: &random))
                for damaged in [shorter, other] {
                    let found = try Self.decoder.get().inspect(marked(damaged).span)
                    let statement = found.contents.map(MutationTests.Statement.init)
                    #expect(!found.isVerified || statement == signed, "\(place)")
                }
            }
        }
    }

    @Test("A complete receipt is never called truncated: the reason names the first other character")
    func foreign() throws {
        let samples = try ReceiptInputTests.Samples.shared
        let text = Base64.encode(samples.app)
        let slash = try #require(text.utf8.firstIndex(of: UInt8(ascii: "/")))
        let offset = text.utf8.distance(from: text.startIndex, to: slash)
        let cut = String(text.prefix(1_000))
        for (text, expected) in [
            text.replacing("/", with: ":"):
                "notBase64 at text: U+003A at offset \(offset) is not a character of base64",
            String(text.prefix(500)) + "\u{A0}?" + text.dropFirst(501):
                "notBase64 at text: U+00A0 at offset 500 is not a character of base64",
            cut: "truncated at SignedData: the data ends at byte 750, before the end of the container",
            Self.lines(cut, "<br />"):
                "truncated at SignedData: the data ends at byte \((1_000 + 13 * 3) * 3 / 4), before the end of the container",
        ] as KeyValuePairs {
            for decoder in [try Self.decoder.get(), try Decoders.tolerant] {
                #expect(decoder.inspect(Array(text.utf8).span).failure?.description == expected)
            }
        }
    }

    @Test("Two receipts in one text are refused, whether they are the same or not; those of a list are tried in turn")
    func two() throws {
        let samples = try ReceiptInputTests.Samples.shared
        let other = try MintedReceipts.app(content: MintedReceipts.content { $0.opaqueSeed = 77 })
        let expected = "trailingBytes at text: two receipts: another one begins after the end of the first"
        for (first, second) in [
            (samples.app, samples.app), (samples.app, other), (samples.app, samples.transaction),
            (samples.transaction, samples.transaction),
        ] {
            let (one, two) = (Base64.encode(first), Base64.encode(second))
            for text in [
                one + "\n" + two, one + two, one + ", " + two, one + "\n\n" + two + "\n",
                Self.lines(one, "\n") + "\n\n" + Self.lines(two, "\n"),
                Self.lines(one, "<br />") + "<br />" + Self.lines(two, "<br />"),
            ] {
                for decoder in [try Self.decoder.get(), try Decoders.tolerant] {
                    let failure = decoder.inspect(Array(text.utf8).span).failure
                    #expect(failure?.description == expected, "\(first.count) \(second.count)")
                }
            }
            let inside = try Self.decoder.get().inspect(Array("receipts: \(one)\n\(two)".utf8).span).failure
            #expect(inside?.description == expected)
            let list = try Self.decoder.get().inspect(Array("['\(one)', '\(two)']".utf8).span)
            #expect(list.isVerified)
        }
        let joined = MintedReceipts.base64(samples.app + other)
        #expect(try Decoders.tolerant.inspect(joined.span).failure?.description == expected)
    }

    // T13
    @Test(
        "The work on a hostile text is limited",
        arguments: ["n", "rn", "MII", "MIIB ", "A", "ewoA", "=0D", "&#43;", "&", "<a", "\u{A0}", "' +\n'", "12: "])
    func bombs(piece: String) throws {
        let size = TestSize.pick(debug: 6_000, release: 400_000)
        for head in ["MIIh", "MIMP", "MIQAAAAA", "ewo", ""] {
            let text = Array((head + "AAAAAAAAAAAA" + String(repeating: piece, count: size / piece.utf8.count)).utf8)
            for decoder in [try Self.decoder.get(), try Decoders.tolerant] {
                let (failure, elapsed) = timed { decoder.refusal(ofText: text) }
                #expect(failure != nil)
                #expect(elapsed < .seconds(8))
            }
        }
    }
}
