import ReceiptBridgeBase
import Foundation
import Synchronization

/// Files of a directory that only their owner can read. Each file is replaced atomically.
struct PrivateFiles: Sendable {
    let directory: String

    /// Opens the directory, and creates it with mode 0700 if it does not exist.
    init(_ directory: String) throws {
        self.directory = directory
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Returns a subdirectory, which is created if it does not exist.
    func folder(_ name: String) throws -> PrivateFiles { try PrivateFiles(path(name)) }

    func path(_ name: String) -> String { "\(directory)/\(name)" }

    /// Writes a temporary file with mode 0600 and renames it.
    func write(_ name: String, _ bytes: [UInt8]) throws {
        let temporary = path(".\(name).new")
        guard
            FileManager.default.createFile(
                atPath: temporary, contents: Data(bytes), attributes: [.posixPermissions: 0o600]),
            rename(temporary, path(name)) == 0
        else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path(name)]) }
    }

    func write(_ name: String, _ text: String) throws { try write(name, Array(text.utf8)) }

    /// Writes one JSON document per line.
    func write(_ name: String, lines: [JSONValue]) throws { try write(name, lines.flatMap { $0.bytes + [0x0A] }) }

    /// Appends a line. Errors are ignored: the line may then be missing, but the file stays readable.
    func append(_ name: String, line: JSONValue) {
        guard FileManager.default.fileExists(atPath: path(name)) || (try? write(name, [])) != nil,
            let file = FileHandle(forWritingAtPath: path(name))
        else { return }
        defer { try? file.close() }
        _ = try? file.seekToEnd()
        try? file.write(contentsOf: Data(line.bytes + [0x0A]))
    }

    func read(_ name: String) -> [UInt8]? { FileManager.default.contents(atPath: path(name)).map { [UInt8]($0) } }

    /// Returns the JSON documents of a file, without lines that are not JSON.
    func lines(_ name: String) -> [JSONValue] {
        (read(name) ?? []).split(separator: 0x0A).compactMap { try? JSONValue(reading: Array($0)) }
    }

    func remove(_ name: String) { try? FileManager.default.removeItem(atPath: path(name)) }
}

/// A log file of the receipts that were signed for responses, one a line. After a restart the simulator recognizes
/// them again.
final class IssuedReceiptLog: Sendable {
    private let files: Mutex<PrivateFiles>
    private static let name = "issued.jsonl"

    init(_ files: PrivateFiles) { self.files = Mutex(files) }

    func add(_ receipt: IssuedReceipt) {
        let plan = receipt.plan
        let line = JSONValue([
            "id": plan.id, "customer": receipt.customer.id,
            "version": plan.version.map { Int64($0) },
            "creationDate": plan.creationDate.milliseconds, "transactionIds": plan.transactionIds,
            "seed": Int64(bitPattern: plan.seed), "receipt": receipt.base64,
        ])
        files.withLock { $0.append(Self.name, line: line) }
    }

    func removeAll() { files.withLock { $0.remove(Self.name) } }

    func receipts(of world: World, issuer: ReceiptIssuer) -> [IssuedReceipt] {
        let customers = Dictionary(world.customers.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        return files.withLock { $0.lines(Self.name) }.compactMap { line in
            guard let id = line["id"]?.text, let customer = line["customer"]?.text.flatMap({ customers[$0] }),
                let date = line["creationDate"]?.integer, let seed = line["seed"]?.integer,
                let bytes = line["receipt"]?.text.flatMap(Base64.decode)
            else { return nil }
            let plan = ReceiptPlan(
                id: id, version: line["version"]?.integer.map { UInt8(truncatingIfNeeded: $0) },
                creationDate: Timestamp(milliseconds: date),
                transactionIds: line["transactionIds"]?.elements?.compactMap(\.text) ?? [],
                seed: UInt64(bitPattern: seed))
            return issuer.issue(plan, for: customer, bytes: bytes)
        }
    }
}
