/// A label whose values are a closed set: what a request says never becomes a new series.
///
/// The raw values count from 0.
package protocol MetricLabel: RawRepresentable<Int>, CaseIterable, Sendable {
    /// The value as it is written.
    var text: String { get }
}

extension MetricLabel {
    /// The name of the case.
    package var text: String { "\(self)" }
}
