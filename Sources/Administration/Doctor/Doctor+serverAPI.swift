import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import ReceiptBridgeTransport

/// Checks whether the App Store Server API accepts the apps' keys, with one lookup of a nonexistent transaction in
/// each environment.
extension Doctor {
    /// An id that belongs to no transaction: real ids have fifteen digits or more.
    private static let unusedId = "1"

    /// Checks apps in both environments concurrently. Results are in the order of the apps.
    func serverAPIChecks(of apps: [BundleIdentifier], _ transport: any HTTPTransport) async -> [CheckResult] {
        guard !apps.isEmpty else { return [] }
        let clients: ServerAPISource
        do {
            clients = try ServerAPISource.batch(
                settings: settings, transport: transport, trust: TrustStore(settings: settings), now: now)
        } catch {
            return [CheckResult("serverAPI", .fail, "\(error)")]
        }
        var calls: [(client: ServerAPIClient, environment: AppStoreEnvironment)] = []
        for app in apps {
            guard let client = clients.client(for: app) else { continue }
            calls += [(client, .production), (client, .sandbox)]
        }
        return await withTaskGroup(of: (Int, CheckResult).self) { group in
            for (index, call) in calls.enumerated() {
                group.addTask { (index, await Self.check(call.client, call.environment)) }
            }
            var results: [Int: CheckResult] = [:]
            for await (index, result) in group { results[index] = result }
            return results.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    private static func check(_ client: ServerAPIClient, _ environment: AppStoreEnvironment) async -> CheckResult {
        let name = "serverAPI \(client.bundleId) \(environment.rawValue.lowercased())"
        guard let id = TransactionIdentifier(rawValue: unusedId) else {
            return CheckResult(name, .fail, "no transaction id for the check")
        }
        do throws(UpstreamError) {
            _ = try await client.transaction(id, in: environment, CallOptions(timeLimit: .seconds(8), maximumCalls: 8))
            return CheckResult(name, .pass, "the key is accepted")
        } catch {
            return result(name, error, environment)
        }
    }

    /// Returns the result for a failed call. "Transaction not found" proves that Apple accepted the key.
    private static func result(
        _ name: String, _ error: UpstreamError, _ environment: AppStoreEnvironment
    ) -> CheckResult {
        if error.httpStatus == 401 {
            let release = environment == .production ? "; production rejects apps that were never released" : ""
            return CheckResult(
                name, .fail, error.reason,
                advice: "compare issuerId, keyId and bundleId with App Store Connect; the key must be listed under"
                    + " Users and Access, Integrations, In-App Purchase, and not be revoked\(release)")
        }
        if let status = error.httpStatus, status == 400 || status == 404, error.errorNumber != nil {
            return CheckResult(name, .pass, "the key is accepted")
        }
        if error.isTemporary, error.httpStatus != nil {
            return CheckResult(name, .warn, error.reason, advice: "try again later")
        }
        return CheckResult(
            name, .fail, "\(error)",
            advice: "the App Store Server API could not be reached, or another server responded")
    }
}

/// Checks that each app's `.p8` file exists, is readable and contains a P-256 key.
extension Doctor {
    var keyChecks: [(bundleId: BundleIdentifier, result: CheckResult)] {
        settings.apps.compactMap { app in
            guard let bundleId = app.bundleId, let account = app.serverAPI else { return nil }
            return (bundleId, Self.check(account, now: now()))
        }
    }

    /// Signs a token with the key, which fails if the key cannot be read or is not a P-256 key.
    private static func check(_ account: ServerAPIAccount, now: Timestamp) -> CheckResult {
        let name = "key \(account.bundleId)"
        do throws(UpstreamError) {
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
