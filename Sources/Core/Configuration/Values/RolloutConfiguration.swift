/// The gradual switch of an app to another source, the key `rollout` of an app.
///
/// For example, with `answer: [apple, receipt]` and `rollout: {source: api, percent: 5, stopAt: 0.5}`, 5 % of the
/// customers are answered by `[api, apple, receipt]`, until more than 0.5 % of them would get another response from
/// `apple`.
package struct RolloutConfiguration: Sendable, Hashable {
    /// The source that is asked first.
    package var source: AnswerSource
    /// The share of the customers, 0 to 100.
    package var percent: Double
    /// The share of compared customers with an unexpected difference above which the rollout stops, 0 to 100.
    package var stopAt: Double

    package init(source: AnswerSource, percent: Double, stopAt: Double) {
        (self.source, self.percent, self.stopAt) = (source, percent, stopAt)
    }

    /// The values as one text. It identifies the rollout in the store: other values are another rollout.
    package var block: String { "\(source.rawValue) \(percent) \(stopAt)" }

    package func sources(before answer: [AnswerSource]) -> [AnswerSource] {
        [source] + answer.filter { $0 != source }
    }
}
