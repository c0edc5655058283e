import JSONReading
package import StoreTypes

/// The endpoints one by one; what is signed in an answer is verified before it is returned.
extension ServerAPIClient {
    /// One transaction.
    package func transaction(
        _ id: TransactionIdentifier, in environment: AppStoreEnvironment, _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) -> Signed<TransactionPayload> {
        try await transaction(id, in: environment, allowance(options))
    }

    /// The customer's download of the app.
    package func appTransaction(
        _ id: TransactionIdentifier, in environment: AppStoreEnvironment, _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) -> Signed<AppTransactionPayload> {
        let answer = try await answer(.appTransactionInfo(id), environment, allowance(options))
        return try verified(try required(answer, "signedAppTransactionInfo"), environment)
    }

    /// All refunds of a customer, those refunded first first; only those after `revision` when it is given. If a revision
    /// is refused, the given one or that of a page, they are read from their beginning, once more and not again.
    package func refunds(
        _ id: TransactionIdentifier, in environment: AppStoreEnvironment, since revision: String? = nil,
        _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) -> (transactions: [Signed<TransactionPayload>], revision: String?) {
        let allowance = allowance(options)
        do throws(ServerAPIError) {
            return try await refunds(id, environment, from: revision, allowance)
        } catch {
            guard error.errorNumber == .invalidRevision else { throw error }
        }
        return try await refunds(id, environment, from: nil, allowance)
    }

    private func refunds(
        _ id: TransactionIdentifier, _ environment: AppStoreEnvironment, from revision: String?,
        _ allowance: CallBudget
    ) async throws(ServerAPIError) -> (transactions: [Signed<TransactionPayload>], revision: String?) {
        var pages = HistoryPages()
        var next = revision
        while !pages.isComplete {
            let page = try await page(.refundHistory(id, revision: next), environment, allowance)
            try pages.add(
                try verified(page.signedTransactions, environment), revision: page.revision, hasMore: page.hasMore)
            next = pages.revision
        }
        return (pages.transactions, pages.revision)
    }

    /// The purchases of an order; production only.
    package func order(
        _ orderId: String, _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) -> OrderLookup {
        let answer = try await answer(.orderLookup(orderId), .production, allowance(options))
        let (status, texts) = try read("order lookup") { () throws(JSONFieldError) in
            (try answer.integer("status"), try answer.texts("signedTransactions") ?? [])
        }
        guard let status else {
            throw ServerAPIError(.malformedAnswer, at: "order lookup", "status: expected a number")
        }
        return OrderLookup(status: status, transactions: try verified(status == 0 ? texts : [], .production))
    }

    /// One page of the notifications that Apple sent, or tried to.
    package func notifications(
        _ query: NotificationQuery, in environment: AppStoreEnvironment, paginationToken: String? = nil,
        _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) -> NotificationPage {
        let call = ServerAPICall.notificationHistory(query, paginationToken: paginationToken)
        let answer = try await answer(call, environment, allowance(options))
        return try read("notification history") { () throws(JSONFieldError) in try NotificationPage(answer) }
    }

    /// Asks Apple for a test notification; the token asks for its status.
    package func requestTestNotification(
        in environment: AppStoreEnvironment, _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) -> String {
        let answer = try await answer(.requestTestNotification(), environment, allowance(options))
        return try required(answer, "testNotificationToken")
    }

    /// What became of a test notification; 4040008 until Apple has tried.
    package func testNotificationStatus(
        _ token: String, in environment: AppStoreEnvironment, _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) -> NotificationRecord {
        let answer = try await answer(.testNotificationStatus(token), environment, allowance(options))
        return try read("test notification") { () throws(JSONFieldError) in try NotificationRecord(answer) }
    }

    /// Moves the renewal date of one subscription; Apple may answer without having done it.
    package func extend(
        _ originalTransactionId: TransactionIdentifier, _ request: ExtensionRequest,
        in environment: AppStoreEnvironment, _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) -> ExtensionResult {
        let answer = try await answer(.extend(originalTransactionId, request), environment, allowance(options))
        return try read("extension") { () throws(JSONFieldError) in try ExtensionResult(answer) }
    }

    /// Has the renewal dates of all subscribers moved; returns the request's identifier once Apple has accepted it.
    package func extendAll(
        _ request: MassExtensionRequest, in environment: AppStoreEnvironment, _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) -> String {
        try required(
            try await answer(.extendAll(request), environment, allowance(options)), "requestIdentifier")
    }

    /// How far such a request is.
    package func extensionStatus(
        productId: String, requestIdentifier: String, in environment: AppStoreEnvironment,
        _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) -> MassExtensionStatus {
        let call = try ServerAPICall.extensionStatus(productId: productId, requestIdentifier: requestIdentifier)
        let answer = try await answer(call, environment, allowance(options))
        return try read("extension status") { () throws(JSONFieldError) in try MassExtensionStatus(answer) }
    }

    /// Answers a consumption request.
    package func sendConsumption(
        _ id: TransactionIdentifier, _ request: ConsumptionRequest, in environment: AppStoreEnvironment,
        _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) {
        _ = try await send(.consumption(id, request), to: environment, allowance(options))
    }

    /// Answers a consumption request the older way.
    package func sendConsumption(
        _ id: TransactionIdentifier, _ request: ConsumptionRequestV1, in environment: AppStoreEnvironment,
        _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) {
        _ = try await send(.consumption(id, request), to: environment, allowance(options))
    }

    /// Ties a purchase to an account of the app's; the first transaction of a subscription only.
    package func setAppAccountToken(
        _ originalTransactionId: TransactionIdentifier, _ token: String, in environment: AppStoreEnvironment,
        _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) {
        _ = try await send(.setAppAccountToken(originalTransactionId, token), to: environment, allowance(options))
    }

    /// Says that a purchase was delivered; a consumable is gone from verifyReceipt's lists thereafter.
    package func finish(
        _ id: TransactionIdentifier, in environment: AppStoreEnvironment, _ options: CallOptions = CallOptions()
    ) async throws(ServerAPIError) {
        _ = try await send(.finish(id), to: environment, allowance(options))
    }
}
