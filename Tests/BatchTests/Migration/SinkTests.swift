import ReceiptBridgeBase
import ReceiptBridgeBatch
import Foundation
import GRDB
import ReceiptBridgeComparison
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Destinations")
struct SinkTests {
    static let names = ["out.jsonl", "out.csv", "out.sqlite"]

    /// Rows with every value that needs special handling in a format.
    static let samples = [
        row(1, ResultRow(id: "c-1", outcome: .decoded, kind: "appReceipt", verified: true)) {
            ($0.sourceId, $0.digest, $0.repairs) = ("c-1", "00ff", ["lineBreaks"])
            ($0.environment, $0.bundleId) = ("Production", "com.example.app")
            ($0.originalTransactionIds, $0.transactionIds) = (["1", "2"], ["1", "2", "3"])
        },
        row(
            2,
            ResultRow(
                id: "c,\"2\"\r\n", outcome: .refused, reason: "notBase64", kind: "unknown", verified: false)
        ) { $0.sourceId = "c,\"" },
        row(3, ResultRow(id: "c\u{0}3 é", outcome: .migrated, kind: "transactionReceipt", verified: true)) {
            ($0.originalTransactionIds, $0.unverifiedIds) = (["9"], ["7,\"8\""])
            $0.api = APIColumns(
                appAppleId: 1_234_567_890, transactions: Array(#"[{"a":"b,c"},{}]"#.utf8),
                subscriptions: Array("[]".utf8), signedTransactions: Array(#"["eyJ"]"#.utf8), revision: "r_1",
                appTransaction: Array(#"{"originalApplicationVersion":"1.0"}"#.utf8))
        },
    ]

    private static func row(_ number: Int64, _ row: ResultRow, _ change: (inout ResultRow) -> Void) -> ResultRow {
        var row = row
        row.row = number
        change(&row)
        return row
    }

    /// Writes rows, closes the destination, and returns its directory.
    private func write(_ rows: [ResultRow], as name: String, withAPI: Bool) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        var sink = try ResultWriters.open(folder.path(name), withAPI: withAPI)
        for row in rows { #expect(try sink.write(row) == .written) }
        try sink.close()
        return folder
    }

    @Test("A JSON Lines destination has an object for each row, always with the same keys")
    func jsonLines() throws {
        let folder = try write(Self.samples, as: "out.jsonl", withAPI: true)
        #expect(
            try folder.text("out.jsonl") == """
                {"id":"c-1","digest":"00ff","outcome":"decoded","reason":null,"kind":"appReceipt","verified":true,\
                "repairs":["lineBreaks"],"environment":"Production","bundleId":"com.example.app",\
                "originalTransactionIds":["1","2"],"transactionIds":["1","2","3"],"unverifiedIds":[],\
                "appAppleId":null,"transactions":null,"subscriptions":null,"signedTransactions":null,"revision":null,\
                "appTransaction":null,"row":1,"sourceId":"c-1"}
                {"id":"c,\\"2\\"\\r\\n","digest":null,"outcome":"refused","reason":"notBase64","kind":"unknown",\
                "verified":false,"repairs":[],"environment":null,"bundleId":null,"originalTransactionIds":[],\
                "transactionIds":[],"unverifiedIds":[],\
                "appAppleId":null,"transactions":null,"subscriptions":null,"signedTransactions":null,"revision":null,\
                "appTransaction":null,"row":2,"sourceId":"c,\\""}
                {"id":"c\\u00003 é","digest":null,"outcome":"migrated","reason":null,"kind":"transactionReceipt",\
                "verified":true,"repairs":[],"environment":null,"bundleId":null,"originalTransactionIds":["9"],\
                "transactionIds":[],"unverifiedIds":["7,\\"8\\""],"appAppleId":1234567890,\
                "transactions":[{"a":"b,c"},{}],"subscriptions":[],"signedTransactions":["eyJ"],"revision":"r_1",\
                "appTransaction":{"originalApplicationVersion":"1.0"},"row":3,"sourceId":null}

                """)
        #expect(
            try write([Self.samples[1]], as: "out.jsonl", withAPI: false).text("out.jsonl").contains("appAppleId")
                == false)
        #expect(try write([], as: "out.jsonl", withAPI: true).text("out.jsonl") == "")
    }

    @Test("A CSV destination has a header and a record for each row, quoted if necessary")
    func csv() throws {
        let folder = try write(Self.samples, as: "out.csv", withAPI: true)
        let names =
            "id,digest,outcome,reason,kind,verified,repairs,environment,bundleId,originalTransactionIds,transactionIds,unverifiedIds"
        let lines = [
            "\(names),appAppleId,transactions,subscriptions,signedTransactions,revision,appTransaction,row,sourceId",
            #"c-1,00ff,decoded,,appReceipt,true,"["lineBreaks"]",Production,com.example.app,"["1","2"]","["1","2","3"]",[],,,,,,,1,c-1"#,
            "\"c,\"\"2\"\"\r\n\",,refused,notBase64,unknown,false,[],,,[],[],[],,,,,,,2,\"c,\"\"\"",
            "c\u{0}3 é,,migrated,,transactionReceipt,true,[],,,\"[\"\"9\"\"]\",[],\"[\"\"7,\\\"\"8\\\"\"\"\"]\",1234567890,\"[{\"\"a\"\":\"\"b,c\"\"},{}]\",[],\"[\"\"eyJ\"\"]\",r_1,\"{\"\"originalApplicationVersion\"\":\"\"1.0\"\"}\",3,",
            "",
        ]
        let text = lines.joined(separator: "\r\n")
            .replacing(#""["lineBreaks"]""#, with: #""[""lineBreaks""]""#)
            .replacing(#""["1","2"]""#, with: #""[""1"",""2""]""#)
            .replacing(#""["1","2","3"]""#, with: #""[""1"",""2"",""3""]""#)
        #expect(try folder.text("out.csv") == text)
        #expect(try write([], as: "out.csv", withAPI: false).text("out.csv") == names + ",row,sourceId\r\n")
    }

    @Test("A SQLite destination is one table, with arrays as JSON text", arguments: ["out.sqlite", "out.db"])
    func table(name: String) throws {
        let folder = try write(Self.samples, as: name, withAPI: true)
        let queue = try DatabaseQueue(path: folder.path(name))
        let rows = try queue.read { try Row.fetchAll($0, sql: "SELECT rowid, * FROM results ORDER BY rowid") }
        #expect(rows.map { $0["rowid"] as Int64 } == [1, 2, 3])
        #expect(
            Array(rows[0].columnNames) == [
                "rowid", "id", "digest", "outcome", "reason", "kind", "verified", "repairs", "environment", "bundleId",
                "originalTransactionIds", "transactionIds", "unverifiedIds", "appAppleId", "transactions",
                "subscriptions", "signedTransactions", "revision", "appTransaction", "row", "sourceId",
            ])
        #expect(rows[0]["originalTransactionIds"] as String == #"["1","2"]"#)
        #expect(rows[0]["verified"] as Int64 == 1)
        #expect(rows[0]["transactions"] as String? == nil)
        #expect(rows[1]["id"] as String == "c,\"2\"\r\n")
        #expect(rows[1]["digest"] as String? == nil)
        #expect(rows[1]["repairs"] as String == "[]")
        #expect(rows[2]["transactions"] as String == #"[{"a":"b,c"},{}]"#)
        #expect(rows[2]["appAppleId"] as Int64 == 1_234_567_890)
        #expect(rows[2]["appTransaction"] as String == #"{"originalApplicationVersion":"1.0"}"#)
        #expect(rows[0]["appTransaction"] as String? == nil)
        // Text after a NUL is stored too.
        let id = try queue.read { try Data.fetchOne($0, sql: "SELECT CAST(id AS BLOB) FROM results WHERE rowid = 3") }
        #expect(id == Data("c\u{0}3 é".utf8))
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(files == [name])
        let empty = try write([], as: name, withAPI: false)
        #expect(try DatabaseQueue(path: empty.path(name)).read { try $0.columns(in: "results").count } == 14)
    }

    @Test("A repeated id is rejected, before and after reopening", arguments: names)
    func repeatedIds(name: String) throws {
        let folder = try TemporaryFolder()
        var sink = try ResultWriters.open(folder.path(name), withAPI: true)
        for row in Self.samples { #expect(try sink.write(row) == .written) }
        for row in Self.samples { #expect(try sink.write(row) == .repeatedId) }
        let position = try sink.checkpoint()
        #expect(position.rows == 3)
        var lost = Self.samples[0]
        lost.id = "lost"
        #expect(try sink.write(lost) == .written)
        if name == "out.sqlite" { try sink.close() }
        sink = try ResultWriters.open(folder.path(name), withAPI: true, at: position)
        for row in Self.samples { #expect(try sink.write(row) == .repeatedId) }
        #expect(try sink.write(lost) == .written)
        #expect(try sink.write(lost) == .repeatedId)
        #expect(try sink.checkpoint().rows == 4)
    }

    @Test("A destination is readable only by its owner", arguments: names)
    func permissions(name: String) throws {
        let folder = try TemporaryFolder()
        var sink = try ResultWriters.open(folder.path(name), withAPI: false)
        _ = try sink.write(Self.samples[0])
        _ = try sink.checkpoint()
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) {
            #expect(try folder.permissions(file) == 0o600, "\(file)")
        }
        try sink.close()
        #expect(try folder.permissions(name) == 0o600)
    }

    @Test("An existing file is not overwritten, unless it is empty", arguments: names)
    func existing(name: String) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(name, "mine")
        let error = #expect(throws: SinkError.self) { _ = try ResultWriters.open(path, withAPI: false) }
        #expect(error == SinkError(.destinationExists, at: path, "the file exists and is not empty"))
        #expect(try folder.text(name) == "mine")
        try folder.write(name, "")
        var sink = try ResultWriters.open(path, withAPI: false)
        _ = try sink.write(Self.samples[0])
        try sink.close()
        #expect(try folder.permissions(name) == 0o600)
        #expect(
            #expect(throws: SinkError.self) { _ = try ResultWriters.open(path, withAPI: false) }?.code
                == .destinationExists)
    }

    @Test("A destination that lacks data that was written is rejected", arguments: names)
    func changed(name: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.path(name)
        var sink = try ResultWriters.open(path, withAPI: false)
        for row in Self.samples { _ = try sink.write(row) }
        let position = try sink.checkpoint()
        try sink.close()
        func refusal(_ position: SinkPosition, withAPI: Bool = false) -> SinkError.Code? {
            #expect(throws: SinkError.self) { _ = try ResultWriters.open(path, withAPI: withAPI, at: position) }?.code
        }
        #expect(refusal(SinkPosition(rows: position.rows + 1, bytes: position.bytes)) == .changed)
        if name == "out.sqlite" {
            #expect(refusal(position, withAPI: true) == .changed)
            try DatabaseQueue(path: path).write { try $0.execute(sql: "DELETE FROM results WHERE rowid = 3") }
            #expect(refusal(position) == .changed)
        } else {
            #expect(refusal(SinkPosition(rows: position.rows, bytes: position.bytes + 1)) == .changed)
            #expect(refusal(SinkPosition(rows: position.rows, bytes: position.bytes - 2)) == .changed)
        }
        try FileManager.default.removeItem(atPath: path)
        #expect(refusal(position) == .changed)
        try folder.write(name, String(repeating: "mine\n", count: 1_000))
        #expect(refusal(position) == .changed)
    }

    @Test("The file name extension selects the format")
    func unknownKind() throws {
        for name in ["out", "out.txt", "out.jsonl.gz", "-"] {
            let error = #expect(throws: SinkError.self) { _ = try ResultWriters.open(name, withAPI: false) }
            #expect(error?.code == .unknownKind)
        }
    }
}
