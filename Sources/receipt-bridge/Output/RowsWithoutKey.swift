import ReceiptBridgeBase
import ReceiptBridgeComparison
import ReceiptBridgeCore

extension AppRegistry {
    /// Returns a sentence for each app whose rows were not looked up.
    func rowsWithoutKey(_ counts: [String: Int64]) -> [String] {
        counts.sorted { $0.key < $1.key }.map { name, count in
            let rows = "\(count.grouped) \(count == 1 ? "row" : "rows") of \(name)"
            guard let bundleId = BundleIdentifier(rawValue: name), configured(bundleId) != nil else {
                let reason = BundleIdentifier(rawValue: name).map { ": \(notice(of: $0))" } ?? ""
                return "\(rows) cannot be looked up\(reason)"
            }
            return !hasKey(bundleId)
                ? "\(rows) cannot be looked up: the app has no serverAPI in the configuration"
                : "\(rows) were not looked up, because the app had no key when they were read"
        }
    }
}
