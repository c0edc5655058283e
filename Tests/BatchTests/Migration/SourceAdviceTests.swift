import ReceiptBridgeBatch
import Testing
import ReceiptBridgeTestSupport

/// Every command that is printed for a file is run here, as it is printed.
@Suite("Advice for sources")
struct SourceAdviceTests {
    private static let receipt = String(repeating: "MIIT8w+/", count: 40)
    private static let expected: [SourceRow] = [.text(1, "a", receipt), .text(2, "b", receipt)]
    private static let objects = ["a", "b"].map { #"{"id": "\#($0)", "receipt": "\#(receipt)"}"# }

    private static let hasJQ = (try? shell("command -v jq >/dev/null")) == 0

    private static let long = String(repeating: "MIIT8w+/", count: 20_000)

    /// JSON that is not one object on each line, and the filter that makes it so.
    static let json: [(text: String, filter: String)] = [
        ("[\(objects.joined(separator: ","))]", ".[]"),
        ("\n[\n  \(objects.joined(separator: ",\n  "))\n]\n", ".[]"),
        (#"{"results": [\#(objects.joined(separator: ","))]}"#, ".results[]"),
        (#"{"count": 2, "results": [ \#(objects.joined(separator: ",")) ], "next": null}"#, ".results[]"),
        ("{\n  \"my rows\": [\n\(objects.joined(separator: ",\n"))\n  ]\n}\n", ".[] | arrays | .[]"),
        (objects.joined(separator: "\n").replacing("{", with: "{\n  ").replacing(", ", with: ",\n  "), "."),
    ]

    @Test(
        "jq makes lines of other forms of JSON", .enabled(if: hasJQ, "needs jq"), arguments: json.indices,
        ["a.json", "a.jsonl", "a b.csv"])
    func jq(index: Int, name: String) throws {
        let (text, filter) = Self.json[index]
        let folder = try TemporaryFolder()
        let path = try folder.write(name, text)
        let error = try #require(throws: SourceError.self) { _ = try Sources.open(path) }
        #expect(error.code == .unknownKind && error.reason == "JSON needs one object on each line")
        let file = name.contains(" ") ? "FILE" : path
        #expect(error.advice == "use: jq -c '\(filter)' \(file) | receipt-bridge … -")
        #expect(try follow(error, file: path, in: folder) == Self.expected)
    }

    @Test(
        "An object whose rows are longer than what is looked at, and an array of receipts, have a command too",
        .enabled(if: hasJQ, "needs jq"))
    func longRows() throws {
        let folder = try TemporaryFolder()
        let row = #"{"id": "a", "receipt": "\#(Self.long)"}"#
        for (text, id) in [(#"{"count": 1, "rows": [\#(row)]}"#, "a"), ("[\"\(Self.long)\"]", nil)] {
            let path = try folder.write("a.json", text)
            let error = try #require(throws: SourceError.self) { _ = try Sources.open(path) }
            #expect(try follow(error, file: path, in: folder) == [.text(1, id, Self.long)])
        }
    }

    @Test(
        "An object with an array is a row if it may be a response, a pair of responses or a receipt",
        arguments: [
            #"{"status":0,"latest_receipt_info":[{"original_transaction_id":"730000000000001"}]}"#,
            #"{"id":"a","receipt":"MIIT","items":[{"receipt":"MIIU"}]}"#,
            #"{"data":"\#(receipt)","items":[{"receipt":"x"}]}"#,
            #"{"signedTransactions":["eyJ"]}"#, #"{"a":[{"receipt":"x"}],"b":[{"receipt":"x"}]}"#, "{}", "{\"a\":1",
            "{\"receipt\":\"\(long)\"}", "{\"receipt\":\"\(long)",
        ])
    func lines(line: String) throws {
        #expect(try rows(of: line, as: "a.json").count == 1)
    }

    /// Rows without a header, and the header in the command.
    static let headerless: [(text: String, header: String)] = [
        ("\(receipt)\n\(receipt)\n", "receipt"), ("a,\(receipt)\nb,\(receipt)\n", "id,receipt"),
        ("\"a\";\"\(receipt)\";x\n\"b\";\"\(receipt)\";y\n", "id;receipt;column3"),
        ("\(receipt)\ta\n\(receipt)\tb\n", "receipt\\tid"), (" a | \(receipt)\n b | \(receipt)\n", "id|receipt"),
    ]

    @Test("sed puts a header before rows", arguments: headerless.indices, ["a.csv", "a.txt", "a.jsonl", "part-00000"])
    func sed(index: Int, name: String) throws {
        let (text, header) = Self.headerless[index]
        let folder = try TemporaryFolder()
        let path = try folder.write(name, text)
        let error = try #require(throws: SourceError.self) { _ = try Sources.open(path) }
        #expect(error.code == .missingColumn && error.advice == "use: sed '1i\(header)' \(path) >receipts.csv")
        let rows = try follow(error, file: path, in: folder)
        let trimmed = rows.map { $0.id?.replacing(" ", with: "") }
        #expect(trimmed == (header == "receipt" ? [nil, nil] : ["a", "b"]))
        #expect(rows.map(\.value) == [.text(Self.receipt), .text(Self.receipt)] || text.hasPrefix(" "))
    }

    @Test("Compressions that are not read are unpacked by the command", arguments: ["zstd", "bzip2", "xz"])
    func unpacked(tool: String) throws {
        guard try shell("command -v \(tool) >/dev/null") == 0 else { return }
        let ending = ["zstd": ".zst", "bzip2": ".bz2", "xz": ".xz"][tool] ?? ""
        let folder = try TemporaryFolder()
        for (name, text) in [
            ("a.jsonl", Self.objects.joined(separator: "\n")), ("b.csv", "id,receipt\na,\(Self.receipt)\n"),
        ] {
            let path = try folder.write(name, text)
            let packed = path + ending
            #expect(try shell("\(tool) -qc \(path) >\(packed) 2>/dev/null || \(tool) -c \(path) >\(packed)") == 0)
            let error = try #require(throws: SourceError.self) { _ = try Sources.open(packed) }
            if name == "b.csv" {
                #expect(try shell("rm \(path) && \(error.command(for: packed))") == 0)
                #expect(try Sources.open(path).identity.kind == .csv)
            } else {
                #expect(try follow(error, file: packed, in: folder) == Self.expected)
            }
        }
    }

    /// Runs the command of an error in the folder, and returns the rows of what it makes.
    private func follow(_ error: SourceError, file: String, in folder: TemporaryFolder) throws -> [SourceRow] {
        let command = error.command(for: file)
        let made = command.contains(">receipts.csv") ? "receipts.csv" : "made.jsonl"
        #expect(try shell(command, in: folder) == 0, "\(command)")
        var source = try Sources.open(folder.path(made))
        return try source.rest()
    }
}

extension SourceError {
    /// The command of the advice, whose output goes to a file instead of a migration.
    fileprivate func command(for file: String) -> String {
        (advice ?? "").replacing("use: ", with: "").replacing("| receipt-bridge … -", with: ">made.jsonl")
            .replacing("FILE", with: "'\(file)'")
    }
}
