import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeStorage

/// Checks the store without opening it for writing, so that a check does not migrate the schema.
extension Doctor {
    func storeChecks() async -> [CheckResult] {
        switch settings.store {
        case nil:
            return [
                CheckResult(
                    "store", .warn, "none: no data survives a restart, and notifications are rejected",
                    advice: "store: sqlite:receipt-bridge.sqlite")
            ]
        case .sqlite(let path): return storeFile(path)
        case .postgresql(let address):
            return await DatabaseChecks(
                address: address, database: settings.database, isOffline: transport == nil,
                settings: settings, keyedApps: keyedApps, now: now
            ).all()
        }
    }

    private var keyedApps: Set<String> {
        Set(settings.apps.filter { $0.serverAPI != nil }.compactMap { $0.bundleId?.rawValue })
    }

    static func customers(_ count: Int64) -> [CheckResult] {
        count == 0
            ? [] : [CheckResult("store customers", .pass, "\(count) can be answered without Apple")]
    }

    /// - Parameter counts: by bundle id.
    static func lookups(_ counts: [String: Int64], of keyedApps: Set<String>) -> [CheckResult] {
        let count = counts.filter { keyedApps.contains($0.key) }.values.reduce(0, +)
        return count == 0
            ? []
            : [
                CheckResult(
                    "store lookups", .warn, "\(count) customers need a lookup",
                    advice: "let the server run until its /readyz says 0, and only then put stored first in answer")
            ]
    }

    static func sharedIdentifiers(_ apps: [String], of settings: ProxyConfiguration) -> [CheckResult] {
        let names = apps.filter { name in settings.apps.contains { $0.bundleId?.rawValue == name } }
        return names.count < 2
            ? []
            : [
                CheckResult(
                    "store apps", .warn, "\(names.joined(separator: " and ")) have the same transaction ids",
                    advice: "name the app in requests and commands with such an id: bundleId=, --bundle-id")
            ]
    }

    private func storeFile(_ path: String) -> [CheckResult] {
        var facts: StoreInspection?
        let result = Self.storeFile(path) { facts = $0 }
        return [result] + Self.customers(facts?.completeCustomers ?? 0)
            + Self.lookups(facts?.customersToLookUp ?? [:], of: keyedApps)
            + Self.sharedIdentifiers(facts?.appsWithSharedIdentifiers ?? [], of: settings)
    }

    /// Returns the unit of the installed service if a folder does not exist and is its `StateDirectory=`.
    private static func unit(creating folder: String) -> String? {
        guard folder == "/var/lib/receipt-bridge", !FileManager.default.fileExists(atPath: folder) else { return nil }
        return ["/etc", "/usr/lib"].map { "\($0)/systemd/system/receipt-bridge.service" }
            .first { FileManager.default.fileExists(atPath: $0) }
    }

    private static func storeFile(_ path: String, _ found: (StoreInspection) -> Void) -> CheckResult {
        let folder = URL(filePath: path).deletingLastPathComponent().path
        if let unit = unit(creating: folder) {
            return CheckResult("store", .pass, "\(folder) does not exist yet; \(unit) creates it at the start")
        }
        guard FileManager.default.isWritableFile(atPath: folder) else {
            return CheckResult(
                "store", .fail, "\(folder) does not exist or is not writable",
                advice: "SQLite writes two more files next to \(path)")
        }
        guard FileManager.default.fileExists(atPath: path) else {
            return CheckResult("store", .pass, "\(path) does not exist yet and can be created")
        }
        guard FileManager.default.isWritableFile(atPath: path) else {
            return CheckResult(
                "store", .fail, "\(path) is not writable", advice: "its owner must be the user that runs receipt-bridge"
            )
        }
        do throws(StorageError) {
            let facts = try StoreOpening.inspect(path)
            if let problem = problem(facts, path) { return problem }
            found(facts)
            if let file = StoreFiles.exposed(of: path).first {
                return CheckResult(
                    "store", .warn, "\(file.path) can be read or changed by \(file.exposure.description)",
                    advice: "chmod 600; serve does that when it starts if its user owns the file")
            }
            let size = ByteCountFormatter.string(fromByteCount: facts.bytes, countStyle: .binary)
            return CheckResult(
                "store", .pass,
                "\(path), \(size)"
                    + (facts.isCurrent ? "" : facts.layout == nil ? ", no tables yet" : ", upgraded at the next start")
            )
        } catch {
            return CheckResult("store", .fail, "\(error)", advice: advice(for: error.code))
        }
    }

    /// Returns the result for a damaged store, or for one that is too large to check; `nil` if it is intact.
    private static func problem(_ facts: StoreInspection, _ path: String) -> CheckResult? {
        switch facts.integrity {
        case .intact: nil
        case .damaged(let reason):
            CheckResult(
                "store", .fail, "\(path) is damaged: \(reason)",
                advice: facts.damage.isEmpty
                    ? advice(for: .notADatabase)
                    : "what can be read is used; receipt-bridge store check sqlite:\(path) says more")
        case .unfinished:
            CheckResult(
                "store", .warn, "\(path) can be opened; it is too large for a complete check in 30 seconds",
                advice: "sqlite3 \(path) 'PRAGMA quick_check' checks it completely")
        }
    }

    /// A store that a newer version wrote must not be moved away: its data is intact.
    private static func advice(for code: StorageError.Code) -> String? {
        switch code {
        case .changed: "run the version that wrote it, or a newer one; the file is intact"
        case .locked: "another process has locked it; try again when that process has ended"
        case .notPermitted: "its owner must be the user that runs receipt-bridge"
        case .full: "free space on the disk"
        default:
            "stop the server and restore a backup of the file, or move it away to start with an empty one; receipts are "
                + "answered without it"
        }
    }
}
