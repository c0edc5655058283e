import Foundation
import Ledger

/// Checks the store without opening it for writing, so that a check does not migrate the schema.
struct StoreCheck {
    /// `nil` if no store is configured.
    let path: String?

    var result: CheckResult {
        guard let path else {
            return CheckResult(
                "store", .warn, "none: nothing outlives a restart, and notifications are not taken",
                advice: "store: sqlite:receipt-bridge.sqlite")
        }
        let folder = URL(filePath: path).deletingLastPathComponent().path
        guard FileManager.default.isWritableFile(atPath: folder) else {
            return CheckResult(
                "store", .fail, "\(folder) is not there, or cannot be written to",
                advice: "SQLite writes two more files beside \(path)")
        }
        guard FileManager.default.fileExists(atPath: path) else {
            return CheckResult("store", .pass, "\(path) is not there yet, and can be made")
        }
        guard FileManager.default.isWritableFile(atPath: path) else {
            return CheckResult(
                "store", .fail, "\(path) cannot be written to", advice: "its owner must be who runs this")
        }
        do throws(StorageError) {
            let facts = try Store.inspect(path: path)
            if let problem = Self.problem(facts.integrity, path) { return problem }
            if let file = StoreFiles.exposed(of: path).first {
                return CheckResult(
                    "store", .warn, "\(file.path) can be read or changed by \(file.exposure.description)",
                    advice: "chmod 600; serve does that at its start if it owns the file")
            }
            let size = ByteCountFormatter.string(fromByteCount: facts.bytes, countStyle: .binary)
            return CheckResult(
                "store", .pass,
                "\(path), \(size), layout \(facts.layout ?? "none yet")\(facts.isCurrent ? "" : ", brought up to date at the next start")"
            )
        } catch {
            return CheckResult("store", .fail, "\(error)", advice: Self.advice(for: error.code))
        }
    }

    private static func problem(_ integrity: Store.Integrity, _ path: String) -> CheckResult? {
        switch integrity {
        case .intact: nil
        case .damaged(let reason):
            CheckResult("store", .fail, "\(path) is damaged: \(reason)", advice: advice(for: .notADatabase))
        case .unfinished:
            CheckResult(
                "store", .warn, "\(path) opens; it is too large to check all of it in 30 seconds",
                advice: "sqlite3 \(path) 'PRAGMA quick_check' checks all of it")
        }
    }

    private static func advice(for code: StorageError.Code) -> String? {
        switch code {
        case .changed: "run the version that wrote it, or a newer one; the file is intact"
        case .locked: "another process holds it; try again when that has ended"
        case .notPermitted: "its owner must be who runs this"
        case .full: "make room on the disk"
        default:
            "stop the server and put back a copy of the file, or move it away to begin with an empty one; receipts are "
                + "answered without it"
        }
    }
}
