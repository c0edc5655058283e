import Foundation
import GRDB
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport

@Suite("Progress files")
struct ProgressFileTests {
    private let path = TestProcess.folder.appending(path: "\(UUID().uuidString).progress").path

    private func with<Value>(_ work: (ProgressFile) throws -> Value) throws -> Value {
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try work(try ProgressFile(path: path))
    }

    @Test("Saved values are readable at once, and the file is private and locked")
    func state() throws {
        try with { ledger in
            try ledger.save([1, 2], as: "a")
            try ledger.commit()
            try ledger.save([3], as: "a")
            #expect(try ledger.state("a") == [3])
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(throws: StorageError.self) { try ProgressFile(path: path) }
        }
    }

    // T23
    @Test("A number that no run has counted is damage, so that nothing that is computed with it overflows")
    func numbers() throws {
        struct Stored: Decodable {
            var rows: Int64?
            var years: [String: Int64]?
            var size: Int64?
        }
        try with { ledger in
            for json in [
                #"{"rows":9223372036854775807}"#, #"{"rows":-9223372036854775808}"#, #"{"rows":9e18}"#,
                #"{"years":{"2024":9223372036854775807}}"#,
            ] {
                try ledger.save(Array(json.utf8), as: "a")
                let error = #expect(throws: StorageError.self) { try ledger.state("a", as: Stored.self) }
                #expect(error?.code == .notADatabase, "\(json)")
            }
            // The largest key of a table, which is only compared.
            try ledger.save(Array(#"{"size":9223372036854775807,"rows":7}"#.utf8), as: "a")
            #expect(try ledger.state("a", as: Stored.self)?.rows == 7)
            for (text, number) in [("7", 7), ("", nil)] as [(String, Int64?)] {
                try ledger.save(Array(text.utf8), as: "a")
                #expect(try ledger.number("a", in: 0...9) == number)
            }
            for text in ["10", "-1", "x", "9223372036854775808"] {
                try ledger.save(Array(text.utf8), as: "a")
                #expect(throws: StorageError.self, "\(text)") { try ledger.number("a", in: 0...9) }
            }
        }
    }

    @Test("A set of numbers is changed number by number, and another one stays")
    func sets() throws {
        try with { ledger in
            for number in [7, 70, 5, 7] as [Int64] { try ledger.insert(number, into: "a") }
            try ledger.insert(9, into: "a b")
            try ledger.save([1], as: "a")
            try ledger.remove(7, from: "a")
            #expect(try ledger.numbers(in: "a") == [5, 70])
            try ledger.remove(nil, from: "a")
            #expect(try ledger.numbers(in: "a") == [] && ledger.numbers(in: "a b") == [9] && ledger.state("a") == [1])
            for text in ["-1", "x", "9223372036854775807"] {
                try ledger.save([], as: "a\n#\(text)")
                #expect(throws: StorageError.self, "\(text)") { try ledger.numbers(in: "a") }
                try ledger.remove(nil, from: "a")
            }
        }
    }

    @Test("Uncommitted changes are lost when the process ends")
    func crash() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            let ledger = try ProgressFile(path: path)
            try ledger.save([1], as: "a")
            try ledger.commit()
            try ledger.save([2], as: "a")
        }
        let ledger = try ProgressFile(path: path)
        #expect(try ledger.state("a") == [1])
    }

    @Test("A file of an older version or of another program is refused")
    func versions() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        for version in [0, 1] {
            let queue = try DatabaseQueue(path: path)
            try queue.write { db in
                try db.execute(sql: "CREATE TABLE IF NOT EXISTS customer (key INTEGER PRIMARY KEY)")
                try db.execute(sql: "PRAGMA user_version = \(version)")
            }
            try queue.close()
            let error = #expect(throws: StorageError.self) { _ = try ProgressFile(path: path) }
            #expect(error?.code == .changed)
        }
    }
}
