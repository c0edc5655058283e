/// The reason why a run over many customers or ids stopped early. The same command resumes it.
package enum RunStop: Sendable, Hashable {
    case limit, time, signal, budget
    /// Too many calls in a row failed, so the cause is not a single id.
    case failing(String)

    package var sentence: String {
        switch self {
        case .limit: "--limit"
        case .time: "--max-hours"
        case .signal: "a signal"
        case .budget: "the hourly budget of calls is used up"
        case .failing(let reason): "calls to the App Store fail: \(reason)"
        }
    }
}
