import Base
import BridgeConfiguration
import ReceiptDecoding
import Responses

/// Apple's last good responses, for requests during an outage: which requests the archive may answer, and which
/// responses are added to it.
package struct LastGoodResponses: ResponseObserver {
    let archive: ResponseArchive
    let apps: AppRegistry

    /// Returns Apple's last good response to a request; `nil` if there is none or it no longer holds.
    func response(to request: ResolvedRequest) async -> SourceResponse? {
        guard let key = key(of: request) else { return nil }
        let archived = await archive.answer(
            to: key, on: request.route, mayBeStale: request.app.staleSubscription == .answer, at: request.now,
            within: request.deadline.reading(before: 0))
        guard let (answer, environment) = archived else { return nil }
        return SourceResponse(
            VerifyReceiptResult(answer, source: .stored, environment: environment), origin: .archived)
    }

    /// Stores a response of Apple's, in the background.
    package func observe(_ response: SourceResponse, to request: ResolvedRequest) {
        guard case .apple(let answer, let environment) = response.origin, let key = key(of: request) else { return }
        archive.save(answer, to: key, from: environment, at: request.now)
    }

    /// The key of a request in the archive. `nil` if the response depends on more than the key holds, or if no
    /// responses of this app are archived.
    private func key(of request: ResolvedRequest) -> ArchiveKey? {
        let app = request.app
        guard request.options.sources == nil || request.options.isArchived, let receipt = request.authenticReceipt,
            app.answer.contains(.apple),
            apps.configured(receipt.bundleId) != nil,
            let password = ArchiveKey.Password(request.request.password, check: request.password)
        else { return nil }
        return ArchiveKey(
            receipt: receipt, excludesOldTransactions: request.request.excludesOldTransactions, password: password)
    }
}
