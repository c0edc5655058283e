import Comparison
import Pipeline
import Rendering
import StoreTypes

/// A request that was answered, queued for a comparison with the second source.
struct ShadowJob: Sendable {
    let body: Redacted<[UInt8]>
    let route: UpstreamRouter.Route
    let reply: VerifyReceiptResult
    let app: BundleIdentifier
    /// The second source.
    let shadow: AnswerSource
    /// When the response was sent.
    let time: Timestamp

    /// The memory that the job takes, in bytes.
    var size: Int { body.reveal().count + reply.answer.body.count }
}

extension ShadowJob {
    /// The app and the environment of the response.
    var scope: ComparisonReport.Scope {
        ComparisonReport.Scope(bundleId: app.rawValue, environment: reply.environment.rawValue)
    }
}
