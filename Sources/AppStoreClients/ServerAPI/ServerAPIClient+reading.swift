import AppStorePayloads
import JSON
import AppStoreTypes

/// Conversion of responses into verified payloads.
extension ServerAPIClient {
    /// Returns one verified transaction within the limits of a running operation.
    func transaction(
        _ id: TransactionIdentifier, in environment: AppStoreEnvironment, _ callBudget: CallBudget
    ) async throws(ServerAPIError) -> Signed<TransactionPayload> {
        let response = try await response(.transactionInfo(id), environment, callBudget)
        return try verified(try required(response, "signedTransactionInfo"), environment)
    }

    /// Sends a call that must have a JSON response.
    func response(
        _ call: ServerAPICall, _ environment: AppStoreEnvironment, _ callBudget: CallBudget
    ) async throws(ServerAPIError) -> JSONObject {
        guard let response = try await send(call, to: environment, callBudget) else {
            throw ServerAPIError(.emptyBody, at: call.endpoint.name, "the response has no body")
        }
        return response
    }

    /// Returns one page of a history after checking that it is about the right app and environment.
    func page(
        _ call: ServerAPICall, _ environment: AppStoreEnvironment, _ callBudget: CallBudget
    ) async throws(ServerAPIError) -> HistoryPage {
        let response = try await response(call, environment, callBudget)
        let page = try read(call.endpoint.name) { () throws(JSONFieldError) in try HistoryPage(response) }
        try check(bundleId: page.bundleId, environment: page.environment, of: environment, at: call.endpoint.name)
        return page
    }

    /// Throws if a response is about another app or environment.
    func check(
        bundleId: String?, environment: String?, of requested: AppStoreEnvironment, at place: String
    ) throws(ServerAPIError) {
        guard bundleId == nil || bundleId == self.bundleId else {
            throw ServerAPIError(.wrongBundleId, at: place, "the response is about another app")
        }
        guard environment == nil || environment == requested.rawValue else {
            throw ServerAPIError(.wrongEnvironment, at: place, "the response is about another environment")
        }
    }

    /// Parses a response. Throws `malformedAnswer` with the name of the call if a field has the wrong type.
    func read<Value>(
        _ place: String, _ body: () throws(JSONFieldError) -> Value
    ) throws(ServerAPIError) -> Value {
        do throws(JSONFieldError) {
            return try body()
        } catch {
            throw ServerAPIError(.malformedAnswer, at: place, error.description)
        }
    }

    /// Returns a string member that must be present.
    func required(_ object: JSONObject, _ name: StaticString) throws(ServerAPIError) -> String {
        let text = try read("answer") { () throws(JSONFieldError) in try object.text(name) }
        guard let text else {
            throw ServerAPIError(.malformedAnswer, at: "answer", "\(name): expected a string")
        }
        return text
    }

    /// Verifies a JWS in a response to our own request. Its app and environment must match as far as it
    /// contains them.
    func verified<Payload: SignedClaims>(
        _ text: String, _ environment: AppStoreEnvironment
    ) throws(ServerAPIError) -> Signed<Payload> {
        let requirements = PayloadRequirements(bundleId: bundleId, environment: environment)
        do throws(SignedPayloadError) {
            return try parts.verifier.verify(text, expecting: requirements, now: parts.clock.now())
        } catch {
            switch error.code {
            case .wrongBundleId: throw ServerAPIError(.wrongBundleId, at: error.place, error.reason)
            case .wrongEnvironment, .xcode: throw ServerAPIError(.wrongEnvironment, at: error.place, error.reason)
            default: throw ServerAPIError(.notAuthentic, at: error.place, "\(error.code.rawValue): \(error.reason)")
            }
        }
    }

    /// Verifies every JWS; one invalid JWS fails the whole response.
    func verified<Payload: SignedClaims>(
        _ texts: [String], _ environment: AppStoreEnvironment
    ) throws(ServerAPIError) -> [Signed<Payload>] {
        var payloads: [Signed<Payload>] = []
        payloads.reserveCapacity(texts.count)
        for text in texts { payloads.append(try verified(text, environment)) }
        return payloads
    }
}
