package import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// Sends consumption information about purchases of one app, after checking Apple's rules: the customer's consent, the
/// 12 hours after Apple's request, and what the type of the product allows.
package struct ConsumptionSender: Sendable {
    package enum SendingOutcome: Sendable, Hashable {
        case sent
        /// The request that would have been sent. If the type of the product is unknown, the rules that depend on it
        /// were not checked.
        case preview(RequestPreview, isTypeUnknown: Bool)
    }

    private let client: ServerAPIClient
    private let scope: AppScope
    private let store: (any Store)?
    private let now: @Sendable () -> Timestamp

    /// - Parameter store: `nil` if no store is configured. Then the deadline is not checked.
    package init(
        client: ServerAPIClient, scope: AppScope, store: (any Store)?,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.client = client
        self.scope = scope
        self.store = store
        self.now = now
    }

    /// - Throws: ``InvalidOperation`` if a rule is broken, ``UpstreamError``, ``StorageError``.
    package func send(
        _ information: ConsumptionInformation, of id: TransactionIdentifier, _ options: CallOptions
    ) async throws -> SendingOutcome {
        try information.checkInput()
        var asked: ConsumptionDeadline?
        if let store { asked = try await ConsumptionDeadline(of: id, in: scope, store: store) }
        if !information.isLate { try asked?.check(at: now(), naming: information.naming) }
        let call: ServerAPICall
        var isTypeUnknown = false
        switch information.form {
        case .current(let input):
            let matters = input.dependsOnProduct
            let type = try await type(of: id, isCallAllowed: matters && !information.isDryRun, options)
            call = .consumption(id, try input.request(for: type, naming: information.naming))
            isTypeUnknown = matters && type == nil
        case .version1(let request):
            let type = try await type(of: id, isCallAllowed: false, options)
            call = .consumption(id, try request.checked(for: type, naming: information.naming))
        }
        guard !information.isDryRun else {
            return .preview(try client.preview(call, in: scope.environment), isTypeUnknown: isTypeUnknown)
        }
        try await client.sendConsumption(call, in: scope.environment, options)
        // The information is sent, whatever the store says. If it is not marked, the case stays open.
        if let store, let uuid = asked?.uuid, let purchase = asked?.originalTransactionId {
            try? await store.consumption.markAnswered(uuid, at: now())
            try? await PurchaseCases(store).update(purchase, in: scope, at: now())
        }
        return .sent
    }

    /// Returns the product's type from the store. If it is not stored, asks the App Store Server API where allowed.
    private func type(
        of id: TransactionIdentifier, isCallAllowed: Bool, _ options: CallOptions
    ) async throws -> ProductType? {
        if let text = try await store?.customers.transaction(id, in: scope),
            let type = Signed<TransactionPayload>(storedText: text)?.payload.knownType
        {
            return type
        }
        guard isCallAllowed else { return nil }
        return try await client.transaction(id, in: scope.environment, options).payload.knownType
    }
}
