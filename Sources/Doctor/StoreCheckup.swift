import Foundation
import Ledger

/// The store, without opening it for writing: a newer version's layout is not made by looking.
struct StoreCheckup {
    /// Nil where nothing is remembered.
    let path: String?

    var result: Checkup {
        guard let path else {
            return Checkup(
                "store", .warn, "none: nothing outlives a restart, and notifications are not taken",
                advice: "store: sqlite:receipt-bridge.sqlite")
        }
        let folder = URL(filePath: path).deletingLastPathComponent().path
        guard FileManager.default.isWritableFile(atPath: folder) else {
            return Checkup(
                "store", .fail, "\(folder) is not there, or cannot be written to",
                advice: "SQLite writes two more files beside \(path)")
        }
        guard FileManager.default.fileExists(atPath: path) else {
            return Checkup("store", .pass, "\(path) is not there yet, and can be made")
        }
        guard FileManager.default.isWritableFile(atPath: path) else {
            return Checkup("store", .fail, "\(path) cannot be written to", advice: "its owner must be who runs this")
        }
        do throws(LedgerError) {
            let facts = try BridgeStore.inspect(path: path)
            if let file = StoreFiles.exposed(of: path).first {
                return Checkup(
                    "store", .warn, "\(file.path) can be read or changed by \(file.exposure.description)",
                    advice: "chmod 600; serve does that at its start if it owns the file")
            }
            let size = ByteCountFormatter.string(fromByteCount: facts.bytes, countStyle: .binary)
            return Checkup(
                "store", .pass,
                "\(path), \(size), layout \(facts.layout ?? "none yet")\(facts.isCurrent ? "" : ", brought up to date at the next start")"
            )
        } catch {
            return Checkup(
                "store", .fail, "\(error)",
                advice: "move the file away to begin with an empty one; receipts are answered without it")
        }
    }
}
