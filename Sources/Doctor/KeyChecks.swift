import AppStore
import Pipeline
import StoreTypes

/// Checks that each app's `.p8` file exists, is readable and contains a P-256 key.
struct KeyChecks {
    let settings: ProxyConfiguration
    let now: Timestamp

    private var results: [(bundleId: BundleIdentifier, result: CheckResult)] {
        settings.apps.compactMap { app in
            guard let bundleId = app.bundleId, let account = app.serverAPI else { return nil }
            return (bundleId, result(account))
        }
    }

    var all: [CheckResult] { results.map(\.result) }

    /// Apps whose private keys can sign.
    var usable: Set<BundleIdentifier> { Set(results.filter { $0.result.verdict == .pass }.map(\.bundleId)) }

    private func result(_ account: ServerAPIAccount) -> CheckResult {
        let name = "key \(account.bundleId)"
        do throws(ServerAPIError) {
            _ = try ProviderTokens(account: account).token(now: now)
            return CheckResult(name, .pass, "\(account.keyId) is a usable P-256 key")
        } catch {
            return CheckResult(
                name, .fail, "\(account.keyId): \(error.reason)",
                advice:
                    "use the In-App Purchase key as downloaded from App Store Connect; it can be downloaded only once, so create a new one if it is lost"
            )
        }
    }
}
