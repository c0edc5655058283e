package import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeBatch
package import ReceiptBridgeCore
import ReceiptBridgeResponses

/// Looks up the customers of a list, and writes a line for each.
package struct ListedLookups: Sendable {
    private let client: ServerAPISource
    private let renderer: CustomerViewRenderer
    private let settings: ProxyConfiguration
    private let rule: UnverifiedRule

    /// - Parameter app: The app of lines that name none; `nil` if they must name one.
    package init(client: ServerAPISource, settings: ProxyConfiguration, app: String?) {
        self.client = client
        self.settings = settings
        renderer = CustomerViewRenderer(tables: settings.tables)
        rule = UnverifiedRule(isAllowed: true, app: app) { BundleIdentifier(rawValue: $0).map(client.handles) ?? false }
    }

    /// Looks up an entry and returns its line: the view of the customer with the id of the entry, or the code and the
    /// reason why there is none. If several apps have a key and the entry names none, it is looked up for each.
    ///
    /// - Throws: ``UpstreamError`` if the lookup can succeed later.
    package func result(_ entry: IdentifierList.Entry) async throws(UpstreamError) -> ListResult {
        switch rule.app(of: entry.identifiers) {
        case .success(let app): return try await result(entry, of: app)
        case .failure(.bundleIdRequired): return try await resultOfEachApp(entry)
        case .failure(let refusal):
            return entry.identifiers.isFound
                ? Self.refusedEntry(of: entry, refusal.rawValue, refusal.reason)
                : Self.refusedEntry(of: entry, "malformedTransactionId", "the line contains no id of 1 to 20 digits")
        }
    }

    /// Looks up an entry for each app with a key, and returns the line of the only one that knows it.
    private func resultOfEachApp(_ entry: IdentifierList.Entry) async throws(UpstreamError) -> ListResult {
        var (found, refusals): ([ListResult], [ListResult]) = ([], [])
        var failure: UpstreamError?
        for app in settings.apps where app.serverAPI != nil {
            do throws(UpstreamError) {
                let result = try await result(entry, of: app.bundleId?.rawValue ?? "")
                if result.isSuccess { found.append(result) } else { refusals.append(result) }
            } catch {
                if !error.isUnknownToApp { failure = failure ?? error }
            }
        }
        if let only = found.first, found.count == 1 { return only }
        if let failure, found.isEmpty { throw failure }
        let none = Self.refusedEntry(
            of: entry, "transactionNotFound", "the App Store does not know this id for any app")
        return found.isEmpty
            ? refusals.first ?? none
            : Self.refusedEntry(of: entry, IdentifierRefusal.bundleIdRequired.rawValue, "several apps know this id")
    }

    /// Looks up an entry for an app.
    private func result(_ entry: IdentifierList.Entry, of app: String) async throws(UpstreamError) -> ListResult {
        guard let bundleId = BundleIdentifier(rawValue: app) else {
            return Self.refusedEntry(
                of: entry, IdentifierRefusal.anotherApp.rawValue, IdentifierRefusal.anotherApp.reason)
        }
        let configured = settings.apps.first { $0.bundleId == bundleId }
        do throws(UpstreamError) {
            let records = try await client.records(
                for: CustomerIdentifiers(
                    originals: Array(entry.identifiers.originals), transactions: Array(entry.identifiers.transactions)),
                bundleId: bundleId, environment: nil)
            guard records.environment != .sandbox || configured?.sandbox != .deny else {
                return Self.refusedEntry(of: entry, "sandboxDenied", "the app denies sandbox purchases")
            }
            let view = renderer.render(
                CustomerView(
                    bundleId: bundleId, records: records, configuredAppAppleId: configured?.appAppleId,
                    verifiedAt: .now))
            return ListResult(line: Self.named(entry, view), isSuccess: true)
        } catch {
            let failure = OperationError(error)
            guard [.transactionNotFound, .accountNotFound].contains(failure.code) else { throw error }
            return Self.refusedEntry(of: entry, failure.code.rawValue, failure.reason)
        }
    }

    /// Returns the view with the id of the entry as its first member.
    private static func named(_ entry: IdentifierList.Entry, _ view: [UInt8]) -> [UInt8] {
        let name = JSONWriter.object { $0.member("transactionId", entry.name) }
        return name.dropLast() + [UInt8(ascii: ",")] + view.dropFirst()
    }

    private static func refusedEntry(of entry: IdentifierList.Entry, _ code: String, _ reason: String) -> ListResult {
        let line = JSONWriter.object {
            $0.member("transactionId", entry.name)
            $0.member("code", code)
            $0.member("reason", reason)
        }
        return ListResult(line: line, isSuccess: false)
    }
}
