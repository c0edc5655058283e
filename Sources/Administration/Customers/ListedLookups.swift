package import AppStoreClients
import AppStorePayloads
import Base
import Batch
package import BridgeConfiguration
import ReceiptDecoding
import Responses
package import VerifyReceipt

/// Looks up the customers of a list, and writes a line for each.
package struct ListedLookups: Sendable {
    private let client: BatchServerAPIClient
    private let renderer: CustomerViewRenderer
    private let settings: ProxyConfiguration
    private let rule: UnverifiedRule

    /// - Parameter app: The app of lines that name none; `nil` if they must name one.
    package init(client: BatchServerAPIClient, settings: ProxyConfiguration, app: String?) {
        self.client = client
        self.settings = settings
        renderer = CustomerViewRenderer(tables: settings.tables)
        rule = UnverifiedRule(isAllowed: true, app: app) { BundleIdentifier(rawValue: $0).map(client.handles) ?? false }
    }

    /// Looks up an entry and returns its line: the view of the customer with the id of the entry, or the code and the
    /// reason why there is none.
    ///
    /// - Throws: ``UpstreamError`` if the lookup can succeed later.
    package func result(_ entry: IdentifierList.Entry) async throws(UpstreamError) -> ListResult {
        let app: String
        do throws(IdentifierRefusal) { app = try rule.app(of: entry.identifiers).get() } catch {
            guard !entry.identifiers.isFound else {
                return Self.refusal(of: entry, error.rawValue, error.reason)
            }
            return Self.refusal(of: entry, "malformedTransactionId", "the line contains no id of 1 to 20 digits")
        }
        guard let bundleId = BundleIdentifier(rawValue: app) else {
            return Self.refusal(of: entry, IdentifierRefusal.anotherApp.rawValue, IdentifierRefusal.anotherApp.reason)
        }
        let configured = settings.apps.first { $0.bundleId == bundleId }
        do throws(UpstreamError) {
            let records = try await client.records(
                for: CustomerIdentifiers(
                    originals: Array(entry.identifiers.originals), transactions: Array(entry.identifiers.transactions)),
                bundleId: bundleId, environment: nil)
            guard records.environment != .sandbox || configured?.sandbox != .deny else {
                return Self.refusal(of: entry, "sandboxDenied", "the app denies sandbox purchases")
            }
            let view = renderer.render(
                CustomerView(
                    bundleId: bundleId, records: records, configuredAppAppleId: configured?.appAppleId,
                    verifiedAt: .now))
            return ListResult(line: Self.named(entry, view), isSuccess: true)
        } catch {
            let failure = CustomerViewError(error)
            guard [.transactionNotFound, .accountNotFound].contains(failure.code) else { throw error }
            return Self.refusal(of: entry, failure.code.rawValue, failure.reason)
        }
    }

    /// Returns the view with the id of the entry as its first member.
    private static func named(_ entry: IdentifierList.Entry, _ view: [UInt8]) -> [UInt8] {
        let name = JSONWriter.object { $0.member("transactionId", entry.name) }
        return name.dropLast() + [UInt8(ascii: ",")] + view.dropFirst()
    }

    private static func refusal(of entry: IdentifierList.Entry, _ code: String, _ reason: String) -> ListResult {
        let line = JSONWriter.object {
            $0.member("transactionId", entry.name)
            $0.member("code", code)
            $0.member("reason", reason)
        }
        return ListResult(line: line, isSuccess: false)
    }
}
