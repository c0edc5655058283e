import ReceiptBridgeBatch
import Foundation
import GRDB
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

extension SourceRow {
    static func text(_ number: Int64, _ id: String?, _ receipt: String, token: String? = nil) -> SourceRow {
        SourceRow(number: number, id: id, value: .text(receipt), accountToken: token)
    }
}

extension StoredValue {
    static func text(_ text: String) -> StoredValue { .bytes(Array(text.utf8)) }

    var code: String? {
        if case .unreadable(let code, _) = self { code } else { nil }
    }
}

extension RowSource {
    /// Returns all remaining rows, in batches of the given sizes, which are repeated.
    mutating func rest(_ sizes: [Int] = [1_000]) throws(SourceError) -> [SourceRow] {
        var rows: [SourceRow] = []
        var turn = 0
        while let batch = try next(maximumRows: sizes[turn % sizes.count], maximumBytes: 1 << 20) {
            rows += batch.rows
            turn += 1
        }
        return rows
    }
}

func rows(
    of text: String, as name: String, options: SourceOptions = SourceOptions(), limits: SourceLimits = SourceLimits()
) throws -> [SourceRow] {
    try rows(of: Array(text.utf8), as: name, options: options, limits: limits)
}

func rows(
    of bytes: [UInt8], as name: String, options: SourceOptions = SourceOptions(), limits: SourceLimits = SourceLimits()
) throws -> [SourceRow] {
    let folder = try TemporaryFolder()
    var source = try Sources.open(try folder.write(name, bytes), options: options, limits: limits)
    return try source.rest()
}

func refusal(of text: String, as name: String, options: SourceOptions = SourceOptions()) -> SourceError.Code? {
    do {
        _ = try rows(of: text, as: name, options: options)
        return nil
    } catch {
        return (error as? SourceError)?.code
    }
}

func makeDatabase(_ path: String, _ sql: String) throws {
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    try queue.close()
}

extension JSONValue {
    /// A result without the columns that say which row of the source it is of.
    var withoutSource: JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { !["row", "sourceId"].contains($0.key) })
    }
}

/// Compresses a file, which stays, and returns the path with `.gz` appended.
func gzip(_ path: String) throws -> String {
    #expect(try shell("gzip -kf '\(path)'") == 0)
    return path + ".gz"
}

/// Runs a command of the shell, and returns its exit code.
func shell(_ command: String, in folder: TemporaryFolder? = nil) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", command]
    process.currentDirectoryURL = folder?.url
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
}
