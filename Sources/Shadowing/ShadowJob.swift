import Comparison
import Pipeline
import Rendering
import StoreTypes

/// A request that was answered, to be asked about once more.
struct ShadowJob: Sendable {
    let body: Redacted<[UInt8]>
    let route: UpstreamRouter.Route
    let reply: VerifyReceiptResult
    let app: BundleIdentifier
    /// The source to be asked.
    let shadow: AnswerSource
    /// When the answer was given.
    let time: Timestamp

    /// Bytes that are kept for it.
    var size: Int { body.reveal().count + reply.answer.body.count }
}

extension ShadowJob {
    /// Whose it is, as far as the answer says.
    var scope: ComparisonReport.Scope {
        ComparisonReport.Scope(bundleId: app.rawValue, environment: reply.environment.rawValue)
    }
}
