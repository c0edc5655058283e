import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import Foundation
package import ReceiptBridgeResponses
package import ReceiptBridgeStorage
package import ReceiptBridgeCore

/// Looks up customers with the App Store Server API.
package final class AppStoreCustomerLookup: CustomerLookupService {
    private let lookups: ServerAPISource
    private let renderer: CustomerViewRenderer
    /// The store of the servers, in which found customers are saved; `nil` for none.
    private let store: (any Store)?

    package init(lookups: ServerAPISource, renderer: CustomerViewRenderer, store: (any Store)? = nil) {
        self.lookups = lookups
        self.renderer = renderer
        self.store = store
    }

    /// Returns whether there is a key for the app.
    package func handles(_ bundleId: String) -> Bool {
        BundleIdentifier(rawValue: bundleId).map(lookups.handles) ?? false
    }

    /// Requests all transactions of a customer, or those since the last run; or the download of the app if that is all
    /// that is known of the customer.
    package func lookUp(_ customer: ImportedCustomer) async -> CustomerAnswer {
        guard let bundleId = BundleIdentifier(rawValue: customer.bundleId) else {
            return .found(.failed(reason: "malformedBundleId"))
        }
        let (askedAt, environment) = (Timestamp.now, AppStoreEnvironment(rawValue: customer.environment))
        let records: CustomerRecords
        do throws(UpstreamError) {
            if let download = customer.appTransactionId {
                guard let identifier = TransactionIdentifier(rawValue: download), let environment else {
                    return .found(.failed(reason: "malformedIdentifier"))
                }
                let (signed, found) = try await lookups.appTransaction(
                    identifier, bundleId: bundleId, environment: environment)
                let api = APIColumns(appAppleId: signed.payload.appAppleId, appTransaction: signed.payload.claims)
                return .found(.known(CustomerColumns(environment: found.rawValue, api)))
            }
            records = try await lookups.records(
                for: CustomerIdentifiers(originalTransactionIds: customer.identifiers, transactionIds: []),
                bundleId: bundleId, environment: environment,
                since: customer.previousLookup.flatMap { known in
                    Self.texts(known.signedTransactions).map { ($0, known.revision) }
                })
        } catch {
            return Self.answer(to: error)
        }
        do throws(StorageError) {
            try await save(records, of: customer, bundleId, askedAt: askedAt)
        } catch {
            return Task.isCancelled ? .cancelled : .giveUp(.storeFailed, reason: "\(error)")
        }
        return .found(.known(columns(records)))
    }

    /// Saves a customer's records in the store, as a server does after a lookup.
    ///
    /// Ids that nothing proves do not become aliases of the customer, because they may be those of another one.
    private func save(
        _ records: CustomerRecords, of customer: ImportedCustomer, _ bundleId: BundleIdentifier, askedAt: Timestamp
    ) async throws(StorageError) {
        let keys = CustomerIdentifiers(
            originalTransactionIds: customer.isProven ? customer.identifiers : [],
            transactionIds: customer.isProven ? customer.transactionIds : [])
        guard let store, records.environment != .xcode, let row = CustomerRow(records, keys: keys, askedAt: askedAt)
        else { return }
        let scope = AppScope(bundleId: bundleId, environment: records.environment)
        var pauses = Self.pauses[...]
        while true {
            do throws(StorageError) {
                try await store.customers.save(row, of: scope)
                return
            } catch {
                guard let pause = pauses.popFirst(), !Task.isCancelled else { throw error }
                try? await Task.sleep(for: pause)
            }
        }
    }

    /// Pauses after which a failed write to the store is repeated: another process may have it locked, or a failover is
    /// in progress.
    private static let pauses: [Duration] = [.milliseconds(500), .seconds(2), .seconds(8)]

    /// Converts an error: an unknown customer is a result, a rejected key or unreachable host may stop the run, and
    /// all other errors are temporary failures of this customer.
    private static func answer(to error: UpstreamError) -> CustomerAnswer {
        if error.code == .cancelled { return .cancelled }
        if error.code == .unauthorized || error.code == .privateKey {
            let message = "the App Store repeatedly rejected the key: \(error.reason)"
            return .failing(.rejectedKey, reason: error.code.rawValue, message)
        }
        if error.isUnknownTransaction || [.accountNotFound, .appTransactionNotFound].contains(error.errorNumber) {
            return .found(.notFound(reason: error.shortCode))
        }
        if error.isUnreachable { return .failing(.unreachable, reason: error.code.rawValue) }
        return .found(.failed(reason: error.shortCode))
    }

    /// Parses a JSON array of strings; `nil` if it is something else.
    private static func texts(_ array: [UInt8]) -> [String]? {
        try? JSONDecoder().decode([String].self, from: Data(array))
    }

    /// Returns the columns of a customer's records.
    private func columns(_ records: CustomerRecords) -> CustomerColumns {
        let columns = renderer.columns(of: records)
        let identifiers = Set(
            records.transactions.flatMap { [$0.payload.originalTransactionId, $0.payload.transactionId] }
                .compactMap { $0 })
        return CustomerColumns(
            environment: records.environment.rawValue,
            APIColumns(
                appAppleId: records.appAppleId, transactions: columns.transactions,
                subscriptions: columns.subscriptions, signedTransactions: columns.signedTransactions,
                revision: records.revision),
            identifiers: identifiers.sorted())
    }

    /// Sets the account token of a purchase. Returns `nil` if that succeeded, otherwise an error code.
    package func setAccountToken(
        _ token: String, of identifier: String, customer: ImportedCustomer
    ) async -> String? {
        guard let token = AccountToken(token)?.text else { return "notAUUID" }
        guard let bundleId = BundleIdentifier(rawValue: customer.bundleId),
            let identifier = TransactionIdentifier(rawValue: identifier),
            let environment = AppStoreEnvironment(rawValue: customer.environment)
        else { return "malformedIdentifier" }
        do throws(UpstreamError) {
            try await lookups.setAppAccountToken(
                token, of: identifier, bundleId: bundleId, environment: environment)
            return nil
        } catch {
            return error.shortCode
        }
    }

    package var usage: (calls: Int64, left: Int64?) { (lookups.calls, lookups.callsLeft) }
    package var callsPerHour: Double { lookups.callsPerHour }

    /// The wait for a rate limit; `nil` if no call is waiting.
    package var rateLimitWait: RateLimitWait? { lookups.rateLimitWait }
}

extension UpstreamError {
    /// Apple's error number, or the code of another error.
    var shortCode: String { errorNumber.map { "\($0)" } ?? code.rawValue }
}

/// A service that looks up customers. The implementation uses the App Store Server API; tests use substitutes.
package protocol CustomerLookupService: Sendable {
    /// Returns whether there is a key for the app.
    func handles(_ bundleId: String) -> Bool

    /// Requests all data of a customer. Waits as long as the rate limit requires.
    func lookUp(_ customer: ImportedCustomer) async -> CustomerAnswer

    /// Sets the account token of a purchase. Returns `nil` if that succeeded, otherwise an error code.
    func setAccountToken(_ token: String, of identifier: String, customer: ImportedCustomer) async -> String?

    /// Number of calls so far, and the remaining calls of this hour for the app that has the fewest.
    var usage: (calls: Int64, left: Int64?) { get }

    /// Number of histories that can be requested in an hour. The same number can be requested in a burst.
    var callsPerHour: Double { get }
}

/// Result of a customer lookup.
package enum CustomerAnswer: Sendable, Hashable {
    /// The lookup has a result for this customer.
    case found(CustomerLookupResult)
    /// The lookup failed for a reason that probably affects all customers. The message says so if it goes on.
    case failing(RunStop, reason: String, _ message: String? = nil)
    /// The run ended before there was a response.
    case cancelled
    /// The run has to stop, for example because the key is rejected.
    case giveUp(RunStop, reason: String)
}
