import AppStorePayloads
import Base

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

    /// Throws if a response is about another app or environment.
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

    /// Returns a string member that must be present.
    func required(_ object: JSONObject, _ name: StaticString) throws(UpstreamError) -> String {
        let text = try read(object, "answer") { members throws(JSONFieldError) in try members.object.text(name) }
        guard let text else {
            throw UpstreamError(.malformedAnswer, at: "answer", "\(name): expected a string")
        }
        return text
    }

    /// Verifies a JWS in a response to our own request. Its app and environment must match as far as it
    /// contains them.
    func verified<Payload: SignedClaims>(
        _ text: String, _ environment: AppStoreEnvironment
    ) throws(UpstreamError) -> Signed<Payload> {
        let requirements = PayloadRequirements(bundleId: bundleId, environment: environment)
        do throws(SignedPayloadError) {
            return try parts.verifier.verify(text, expecting: requirements, now: parts.clock.now())
        } catch {
            let code: UpstreamError.Code =
                switch error.code {
                case .wrongBundleId: .wrongBundleId
                case .wrongEnvironment, .xcode: .wrongEnvironment
                case .unexpectedType: .unexpectedType
                case _ where error.verdict == .notJudged: .notVerifiable
                case _ where error.verdict == .notOfThisKind: .malformedAnswer
                default: .notAuthentic
                }
            throw UpstreamError(code, at: error.place, "\(error.code.rawValue): \(error.reason)")
        }
    }

    /// Verifies every JWS; one invalid JWS fails the whole response.
    func verified<Payload: SignedClaims>(
        _ texts: [String], _ environment: AppStoreEnvironment
    ) throws(UpstreamError) -> [Signed<Payload>] {
        var payloads: [Signed<Payload>] = []
        payloads.reserveCapacity(texts.count)
        for text in texts { payloads.append(try verified(text, environment)) }
        return payloads
    }
}
