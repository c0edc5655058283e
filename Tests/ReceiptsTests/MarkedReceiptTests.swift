import ReceiptBridgeBase
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Receipts with other characters between their own")
struct MarkedReceiptTests {
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
        .marks("rn after lines of 76", [.marks]) { lines($0, "rn") },
        .marks("n after lines of 64", [.marks]) { lines($0, "n", 64) },
        .marks("n after each line, also the last", [.marks]) { lines($0.filter { $0 != "=" }, "n", 64) + "n" },
        .marks("two breaks after each line", [.marks]) { lines($0, "rnrn") },
        .marks("u000a after each line", [.marks]) { lines($0, "u000a") },
        .marks("n and a line break after each line", [.marks]) { lines($0, "n\n") },
        .marks("rn and n mixed", [.marks]) { text in
            lines(text, "\n").split(separator: "\n").enumerated().map { $1 + ($0 % 3 == 0 ? "n" : "rn") }.joined()
        },
        .marks("n before the receipt", [.marks]) { "n" + $0 },
        .marks("rn before the receipt and after each line", [.marks]) { "rn" + lines($0, "rn") },
        // Tags and character references.
        .marks("br", [.whitespace, .marks]) { lines($0, "<br />") },
        .marks("br and a line break", [.whitespace, .marks]) { lines($0, "<br>\n") },
        .marks("wbr between characters of any number", [.markup]) { text in
            var (result, number) = ("", 7)
            for (index, character) in text.enumerated() {
                result.append(character)
                if index == number { (result, number) = (result + "<wbr>", number + 11 + number % 13) }
            }
            return result
        },
        .marks("references to line breaks", [.marks]) { lines($0, "&#13;&#10;") },
        .marks("references to characters", [.markup]) { references($0, "&#") },
        .marks("references that were escaped", [.markup]) { references($0, "&amp;#") },
        // Mail.
        .marks("quotes of mail", [.whitespace, .marks]) { numbered($0) { _ in "> " } },
        .marks("soft breaks of mail", [.whitespace, .marks]) { lines($0, "=\n") },
        .marks("breaks of mail", [.markup, .whitespace]) { lines($0.replacing("=", with: "=3D"), "=0D=0A", 72) },
        // Unicode.
        .marks("no-break spaces", [.marks]) { lines($0, "\u{A0}") },
        .marks("zero-width spaces and joiners", [.marks]) { lines($0, "\u{200B}\u{200D}") },
        .marks("a byte order mark in the middle", [.marks]) { String($0.prefix(100)) + "\u{FEFF}" + $0.dropFirst(100) },
        .marks("spaces for + and a byte order mark", [.marks]) {
            String($0.prefix(100)) + "\u{FEFF}" + $0.dropFirst(100)
        },
        // Source code.
        .marks("concatenation in JavaScript", [.quotes, .whitespace, .marks]) { "'" + lines($0, "' +\n'") + "'" },
        .marks("concatenation in C", [.whitespace, .marks]) { "\"" + lines($0, "\"\n  \"") + "\";" },
        .marks("concatenation in C with escapes", [.jsonEscapes, .whitespace, .marks]) {
            "\"" + lines($0, "\\n\"\n\"") + "\";"
        },
        .marks("concatenation in PHP", [.marks, .whitespace]) { "'" + lines($0, "' .\n '") + "';" },
        .marks("concatenation in Ruby", [.jsonEscapes, .whitespace, .marks]) { "'" + lines($0, "' \\\n'") + "';" },
        .marks("a variable of JavaScript", [.literal, .whitespace, .marks], isEmbedded: true) {
            "var receipt = '" + lines($0, "' +\n    '") + "';"
        },
        .marks("a variable of Python", [.literal, .whitespace, .marks], isEmbedded: true) {
            "receipt = (\n    \"" + lines($0, "\"\n    \"") + "\"\n)\n"
        },
        .marks("a page", [.literal, .whitespace, .marks], isEmbedded: true) {
            "<p>Receipt: " + lines($0, "<br />") + "</p>"
        },
        // Lines with something before them.
        .marks("numbers of lines", [.whitespace, .marks]) { numbered($0) { "\($0): " } },
        .marks("numbers of lines after spaces", [.whitespace, .marks]) { numbered($0) { "   \($0)\t" } },
        .marks("lines of a difference", [.marks]) { numbered($0) { _ in "+" } },
        .marks("bars", [.whitespace, .marks]) { numbered($0) { _ in "| " } },
        // Around the receipt.
        .marks("a log", [.literal], isEmbedded: true) { "2021-03-04 10:11:12 INFO receipt=\($0) user=7" },
        .marks("a header", [.literal], isEmbedded: true) { "Bearer \($0)" },
        .marks("a struct of Go", [.literal], isEmbedded: true) { "&{ReceiptData:\($0) Password:x}" },
        .marks("YAML, folded", [.literal, .whitespace], isEmbedded: true) {
            "---\nreceipt: >-\n  " + lines($0, "\n  ", 80) + "\n"
        },
        .marks("YAML, binary", [.literal, .whitespace], isEmbedded: true) {
            "---\n:receipt: !binary |-\n  " + lines($0, "\n  ", 60) + "\n"
        },
    ]

    private static let decoder = Result { try MintedReceipts.decoder(.stored) }

    @Test("What is between the characters is dropped, and the repair is reported", arguments: shapes)
    func finds(shape: Shape) throws {
        let samples = try ReceiptInputTests.Samples.shared
        for bytes in [samples.app, samples.transaction] {
            let plain = MintedReceipts.base64(bytes)
            let text = try shape.wrap(bytes, String(decoding: plain, as: UTF8.self))
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
