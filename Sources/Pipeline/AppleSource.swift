package import AppStore
import StoreTypes

/// Apple's verifyReceipt as a source: performs what ``AppleWalk`` decides, within a deadline.
package struct AppleSource: Sendable {
    private let client: VerifyReceiptClient
    private let deadline: Duration
    private let sleep: @Sendable (Duration) async -> Void

    /// - Parameters:
    ///   - deadline: for all questions of one request together; clients give up after 3 to 10 seconds.
    ///   - sleep: what passes the time between two questions; it returns early when the task is cancelled.
    package init(
        client: VerifyReceiptClient, deadline: Duration = .seconds(9),
        sleep: @escaping @Sendable (Duration) async -> Void
    ) {
        self.client = client
        self.deadline = deadline
        self.sleep = sleep
    }

    enum Outcome: Sendable {
        case pass(AppleAnswer, from: AppStoreEnvironment)
        case unavailable(last: AppleAnswer?, from: AppStoreEnvironment, reason: String)
    }

    func answer(body: [UInt8], route: AppleWalk.Route, isVerifiedHere: Bool) async -> Outcome {
        let end = ContinuousClock.now + deadline
        var walk = AppleWalk(route: route, isVerifiedHere: isVerifiedHere)
        var instruction = walk.first
        while true {
            switch instruction {
            case .pass(let answer, let environment):
                return .pass(answer, from: environment)
            case .unavailable(let last, let environment, let reason):
                return .unavailable(last: last, from: environment, reason: reason)
            case .ask(let environment, let pause):
                if pause > 0 { await sleep(.milliseconds(pause)) }
                let remaining = end - ContinuousClock.now
                guard remaining > .zero, !Task.isCancelled else {
                    return .unavailable(last: nil, from: environment, reason: "no time left to ask again")
                }
                instruction = walk.received(await client.send(body: body, to: environment, timeout: remaining))
            }
        }
    }
}
