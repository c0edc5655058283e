import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeResponses

/// The purchases that a response shows, as far as the rules of an app need to know them. Before a source is asked,
/// these are the purchases that the presented item itself holds.
struct ShownPurchases: Sendable {
    /// Indirect, because a request that waits for Apple keeps room for responses.
    private indirect enum Content: Sendable {
        case presented(AuthenticItem)
        case rendered(PurchaseHistory, of: AuthenticItem)
        /// `nil` if the response is not a JSON object. Nothing in it is signed.
        case forwarded(ResponseDocument?, to: AuthenticItem?)
    }

    private let content: Content

    init(in item: AuthenticItem) { content = .presented(item) }

    init(in history: PurchaseHistory, of item: AuthenticItem) { content = .rendered(history, of: item) }

    init(in response: ResponseDocument?, to item: AuthenticItem?) { content = .forwarded(response, to: item) }

    /// Whether an auto-renewable is among the rows that no password protects.
    var hasAutoRenewable: Bool {
        switch content {
        case .presented(let item): item.hasAutoRenewable
        case .rendered(let history, _): history.receipt.hasAutoRenewable
        case .forwarded(let response, _): response?.purchases.contains { $0.expires != nil } ?? false
        }
    }

    /// The item to look the customer up with; `nil` if only the response says who it is.
    var presented: AuthenticItem? {
        switch content {
        case .presented(let item), .rendered(_, let item): item
        case .forwarded: nil
        }
    }

    var lookupKeys: CustomerIdentifiers {
        switch content {
        case .presented(let item), .rendered(_, let item): item.lookupKeys
        case .forwarded(let response, _): response?.lookupKeys ?? CustomerIdentifiers([])
        }
    }

    /// The identifiers by which the customer is recognized again: original transaction ids, and the id of the app
    /// transaction. Those of the presented item come first, then those of the response and of the customer's records.
    /// Empty if the response shows no purchase and none is known.
    var ownerIdentifiers: [TransactionIdentifier] {
        switch content {
        case .presented(let item): return item.ownerIdentifiers
        case .forwarded(let response, let item):
            return (item?.ownerIdentifiers ?? []) + (response?.lookupKeys.originalTransactionIds ?? [])
        case .rendered(let history, let item):
            let known = (history.records?.watchedIdentifiers ?? []).sorted().compactMap(
                TransactionIdentifier.init(rawValue:))
            if known.isEmpty, case .app(let receipt) = history.receipt, receipt.purchases.isEmpty { return [] }
            return item.ownerIdentifiers + known
        }
    }
}
