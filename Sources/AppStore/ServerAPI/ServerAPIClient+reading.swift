import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// Conversion of responses into verified payloads.
extension ServerAPIClient {
    /// Returns one verified transaction within the limits of a running operation.
    func transaction(
        _ id: TransactionIdentifier, in environment: AppStoreEnvironment, _ callBudget: CallBudget
    ) async throws(UpstreamError) -> Signed<TransactionPayload> {
        let response = try await response(.transactionInfo(id), environment, callBudget)
        return try verified(try required(response, "signedTransactionInfo"), environment)
    }

    /// Sends a call that must have a JSON response.
    func response(
        _ call: ServerAPICall, _ environment: AppStoreEnvironment, _ callBudget: CallBudget, retries: Bool = true
    ) async throws(UpstreamError) -> JSONObject {
        guard let response = try await send(call, to: environment, callBudget, retries: retries) else {
            throw UpstreamError(.emptyBody, at: call.endpoint.name, "the response has no body")
        }
        return response
    }

    /// Returns one page of a history after checking that it is about the right app and environment.
    func page(
        _ call: ServerAPICall, _ environment: AppStoreEnvironment, _ callBudget: CallBudget
    ) async throws(UpstreamError) -> HistoryPage {
        let response = try await response(call, environment, callBudget)
        let page = try read(response, call.endpoint.name, HistoryPage.init)
        try check(bundleId: page.bundleId, environment: page.environment, of: environment, at: call.endpoint.name)
        return page
    }

    func check(
        bundleId: String?, environment: String?, of requested: AppStoreEnvironment, at place: String
    ) throws(UpstreamError) {
        guard bundleId == nil || bundleId == self.bundleId else {
            throw UpstreamError(.wrongBundleId, at: place, "the response is about another app")
        }
        guard environment == nil || environment == requested.rawValue else {
            throw UpstreamError(.wrongEnvironment, at: place, "the response is about another environment")
        }
    }

    /// Parses a response. Throws `malformedAnswer` with the name of the call if a field that is needed has the wrong
    /// type.
    func read<Value>(
        _ response: JSONObject, _ place: String, _ body: (inout ClaimReader) throws(JSONFieldError) -> Value
    ) throws(UpstreamError) -> Value {
        do throws(JSONFieldError) {
            return try parts.verifier.read(response, body)
        } catch {
            throw UpstreamError(.malformedAnswer, at: place, error.description)
        }
    }

    func required(_ object: JSONObject, _ name: StaticString) throws(UpstreamError) -> String {
        let text = try read(object, "answer") { members throws(JSONFieldError) in try members.object.text(name) }
        guard let text else { throw UpstreamError(.malformedAnswer, at: "answer", "\(name): expected a string") }
        return text
    }

    /// Verifies a JWS in a response to our own request. Its app and environment must match as far as it
    /// contains them; one of another app or environment is counted.
    func verified<Payload: SignedClaims>(
        _ text: String, _ environment: AppStoreEnvironment
    ) throws(UpstreamError) -> Signed<Payload> {
        let requirements = PayloadRequirements(bundleId: bundleId, environment: environment)
        do throws(SignedPayloadError) {
            return try parts.verifier.verify(text, expecting: requirements, now: parts.clock.now())
        } catch {
            if error.isMisplaced { parts.counts?.foreignRecords.add(environment) }
            let code: UpstreamError.Code =
                switch error.code {
                case .wrongBundleId, .wrongAppAppleId: .wrongBundleId
                case .wrongEnvironment: .wrongEnvironment
                case .xcode where error.isMisplaced: .wrongEnvironment
                case .unexpectedType: .unexpectedType
                case _ where error.verdict == .notJudged: .notVerifiable
                case _ where error.verdict == .notOfThisKind: .malformedAnswer
                default: .notAuthentic
                }
            throw UpstreamError(code, at: error.place, "\(error.code.rawValue): \(error.reason)")
        }
    }

    /// Verifies every JWS. One that the App Store signed for another app or environment is left out; any other invalid
    /// one fails the whole response.
    func verified(_ texts: [String], _ environment: AppStoreEnvironment) throws(UpstreamError) -> VerifiedRows {
        var rows = VerifiedRows()
        rows.transactions.reserveCapacity(texts.count)
        for text in texts {
            do throws(UpstreamError) {
                rows.transactions.append(try verified(text, environment))
            } catch {
                guard error.isForeign else { throw error }
                rows.foreign = rows.foreign ?? error
            }
        }
        return rows
    }
}

/// The rows of a response that belong to the app and the environment of the request.
struct VerifiedRows {
    var transactions: [Signed<TransactionPayload>] = []
    /// The first row that was left out because it belongs elsewhere; `nil` if there was none.
    var foreign: UpstreamError?
}
