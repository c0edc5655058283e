import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeStorage

/// The app transactions of customers: their downloads of the app.
extension ServerAPISource {
    /// The app transaction of a customer whose records were just returned for these keys, at hand if possible. It takes
    /// one call of the rate limit. `nil` if the App Store knows none or does not answer in time, which decides nothing.
    func appTransaction(
        of records: CustomerRecords, for keys: CustomerIdentifiers, bundleId: BundleIdentifier,
        environment: AppStoreEnvironment?, priority: HourlyBudget.Priority = .live, within limit: Duration
    ) async -> Signed<AppTransactionPayload>? {
        guard let app = apps[bundleId], let id = records.downloadIdentifier else { return nil }
        let key = RecordsAtHand.Key(keys, of: bundleId, in: environment)
        switch atHand.download(of: key, at: now(), maximumAge: app.maximumAge) {
        case .known(let signed)?: return signed
        case .absent?: return nil
        case nil: break
        }
        guard let download = await download(id, of: app, in: records.environment, priority, within: limit) else {
            return nil
        }
        atHand.add(download, for: key, at: now(), maximumAge: app.maximumAge)
        guard case .known(let signed) = download else { return nil }
        return signed
    }

    /// Looks an app transaction up by its own id; `nil` if there is none, or on any failure.
    func appTransaction(
        _ id: TransactionIdentifier, bundleId: BundleIdentifier, environment: AppStoreEnvironment,
        priority: HourlyBudget.Priority = .live, within limit: Duration
    ) async -> Signed<AppTransactionPayload>? {
        guard let app = apps[bundleId],
            case .known(let signed)? = await download(id, of: app, in: environment, priority, within: limit)
        else { return nil }
        return signed
    }

    /// The time for Get App Transaction Info, because the caller already has a response without it.
    private static let downloadTimeLimit = Duration.seconds(3)

    /// Calls Get App Transaction Info. Returns `nil` on a failure.
    private func download(
        _ id: TransactionIdentifier, of app: App, in environment: AppStoreEnvironment,
        _ priority: HourlyBudget.Priority, within limit: Duration
    ) async -> RecordsAtHand.Download? {
        guard limit > .zero else { return nil }
        do throws(UpstreamError) {
            return .known(
                try await app.client.appTransaction(
                    id, in: environment,
                    CallOptions(priority: priority, timeLimit: min(limit, Self.downloadTimeLimit))))
        } catch {
            return error.errorNumber == .appTransactionNotFound ? .absent : nil
        }
    }
}

extension CustomerRecords {
    /// The app transaction id, otherwise that of any transaction.
    fileprivate var downloadIdentifier: TransactionIdentifier? {
        func first(_ ids: some Sequence<String?>) -> TransactionIdentifier? {
            ids.lazy.compactMap { $0.flatMap(TransactionIdentifier.init(rawValue:)) }.first { _ in true }
        }
        return first(transactions.lazy.map(\.payload.appTransactionId))
            ?? first(transactions.lazy.map(\.payload.transactionId))
    }
}
