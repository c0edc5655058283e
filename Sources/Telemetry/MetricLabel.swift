/// A metric label with a fixed set of values.
///
/// Because the set is fixed, the content of a request can never create a new time series. The raw values count from
/// 0.
package protocol MetricLabel: RawRepresentable<Int>, CaseIterable, Sendable {
    /// The value of the label in the metrics output.
    var text: String { get }
}

extension MetricLabel {
    /// Defaults to the name of the case.
    package var text: String { "\(self)" }
}
