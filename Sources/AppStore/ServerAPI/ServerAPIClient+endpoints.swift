package import ReceiptBridgeReceipts
package import ReceiptBridgeBase

/// The endpoints. Every JWS in a response is verified before it is returned.
extension ServerAPIClient {
    package func transaction(
        _ id: TransactionIdentifier, in environment: AppStoreEnvironment, _ options: CallOptions = CallOptions()
    ) async throws(UpstreamError) -> Signed<TransactionPayload> {
        try await transaction(id, in: environment, callBudget(options))
    }

    package func appTransaction(
        _ id: TransactionIdentifier, in environment: AppStoreEnvironment, _ options: CallOptions = CallOptions()
    ) async throws(UpstreamError) -> Signed<AppTransactionPayload> {
        let response = try await response(.appTransactionInfo(id), environment, callBudget(options))
        return try verified(try required(response, "signedAppTransactionInfo"), environment)
    }

    /// Returns all refunds of a customer in order of refund, or only those after `revision`.
    ///
    /// If Apple rejects a revision, either the given one or that of a page, the refunds are read once more from the
    /// beginning.
    package func refunds(
        _ id: TransactionIdentifier, in environment: AppStoreEnvironment, since revision: String? = nil,
        _ options: CallOptions = CallOptions()
    ) async throws(UpstreamError) -> (transactions: [Signed<TransactionPayload>], revision: String?) {
        let callBudget = callBudget(options)
        do throws(UpstreamError) {
            return try await refunds(id, environment, from: revision, callBudget)
        } catch {
            guard error.errorNumber == .invalidRevision else { throw error }
        }
        return try await refunds(id, environment, from: nil, callBudget)
    }

    private func refunds(
        _ id: TransactionIdentifier, _ environment: AppStoreEnvironment, from revision: String?,
        _ callBudget: CallBudget
    ) async throws(UpstreamError) -> (transactions: [Signed<TransactionPayload>], revision: String?) {
        var pages = HistoryPages()
        var next = revision
        while !pages.isComplete {
            let page = try await page(.refundHistory(id, revision: next), environment, callBudget)
            try pages.add(
                try verified(page.signedTransactions, environment).transactions, revision: page.revision,
                hasMore: page.hasMore)
            next = pages.revision
        }
        return (pages.transactions, pages.revision)
    }

    /// Returns the purchases of an order. Available only in production.
    package func order(
        _ orderId: String, _ options: CallOptions = CallOptions()
    ) async throws(UpstreamError) -> OrderLookup {
        let response = try await response(.orderLookup(orderId), .production, callBudget(options))
        let (status, texts) = try read(response, "order lookup") { members throws(JSONFieldError) in
            (try members.object.number("status"), try members.object.texts("signedTransactions") ?? [])
        }
        guard let status else {
            throw UpstreamError(.malformedAnswer, at: "order lookup", "status: expected a number")
        }
        return OrderLookup(
            status: status, transactions: try verified(status == 0 ? texts : [], .production).transactions)
    }

    /// Returns one page of the notifications that Apple sent or tried to send.
    package func notifications(
        _ query: NotificationQuery, in environment: AppStoreEnvironment, paginationToken: String? = nil,
        _ options: CallOptions = CallOptions()
    ) async throws(UpstreamError) -> NotificationPage {
        let call = ServerAPICall.notificationHistory(query, paginationToken: paginationToken)
        let response = try await response(call, environment, callBudget(options))
        return try read(response, "notification history", NotificationPage.init)
    }

    /// Requests a test notification. Returns the token for ``testNotificationStatus(_:in:_:)``.
    package func requestTestNotification(
        in environment: AppStoreEnvironment, _ options: CallOptions = CallOptions()
    ) async throws(UpstreamError) -> String {
        let response = try await response(.requestTestNotification(), environment, callBudget(options))
        return try required(response, "testNotificationToken")
    }

    /// Returns the delivery status of a test notification. Apple returns error 4040008 until the first attempt.
    package func testNotificationStatus(
        _ token: String, in environment: AppStoreEnvironment, _ options: CallOptions = CallOptions()
    ) async throws(UpstreamError) -> NotificationRecord {
        let response = try await response(.testNotificationStatus(token), environment, callBudget(options))
        return try read(response, "test notification", NotificationRecord.init)
    }

    /// Extends the renewal date of one subscription. The request may succeed without an extension, so check
    /// `success`.
    package func extend(
        _ originalTransactionId: TransactionIdentifier, _ request: ExtensionRequest,
        in environment: AppStoreEnvironment, _ options: CallOptions = CallOptions()
    ) async throws(UpstreamError) -> ExtensionResult {
        let response = try await response(.extend(originalTransactionId, request), environment, callBudget(options))
        return try read(response, "extension", ExtensionResult.init)
    }

    /// Requests an extension for all subscribers. Returns the request identifier once Apple has accepted it.
    package func extendAll(
        _ request: MassExtensionRequest, in environment: AppStoreEnvironment, _ options: CallOptions = CallOptions()
    ) async throws(UpstreamError) -> String {
        try required(try await response(.extendAll(request), environment, callBudget(options)), "requestIdentifier")
    }

    package func extensionStatus(
        productId: String, requestIdentifier: String, in environment: AppStoreEnvironment,
        _ options: CallOptions = CallOptions()
    ) async throws(UpstreamError) -> MassExtensionStatus {
        let call = try ServerAPICall.extensionStatus(productId: productId, requestIdentifier: requestIdentifier)
        let response = try await response(call, environment, callBudget(options))
        return try read(response, "extension status", MassExtensionStatus.init)
    }

    /// Sends one of the calls ``ServerAPICall/consumption(_:_:)`` in either version.
    package func sendConsumption(
        _ call: ServerAPICall, in environment: AppStoreEnvironment, _ options: CallOptions = CallOptions()
    ) async throws(UpstreamError) {
        _ = try await send(call, to: environment, callBudget(options))
    }

    /// Sets the app account token of a purchase. For a subscription, the identifier must be its original transaction.
    package func setAppAccountToken(
        _ originalTransactionId: TransactionIdentifier, _ token: String, in environment: AppStoreEnvironment,
        _ options: CallOptions = CallOptions()
    ) async throws(UpstreamError) {
        _ = try await send(.setAppAccountToken(originalTransactionId, token), to: environment, callBudget(options))
    }
}
