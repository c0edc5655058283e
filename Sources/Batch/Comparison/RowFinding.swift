import ReceiptBridgeComparison

/// Result of comparing one receipt. verifyReceipt's response is compared with the App Store Server API's records, and
/// with the response rendered from them, which is what a client would receive.
struct RowFinding: Sendable {
    let verifyReceipt: ComparedAnswer
    let serverAPI: ComparedAnswer
    /// Response rendered from the records; `nil` if none could be rendered.
    let rendered: ComparedAnswer?
    /// Digest of the customer, see ``ComparedCustomer``.
    let customer: Int64
    /// `true` if everything in the verifyReceipt response could be compared, see ``Comparison/isWhole``.
    let isWhole: Bool
    /// Differences between the verifyReceipt response and the rendered one, which a client would get; if none could be
    /// rendered, those of the records in its place.
    let decisive: [Difference]
    /// Differences that only the records have, which no client gets.
    private let ofRecords: [Difference]

    init(
        verifyReceipt: ComparedAnswer, serverAPI: ComparedAnswer, rendered: ComparedAnswer?, context: ComparisonContext,
        receipt: @autoclosure () -> String
    ) {
        self.verifyReceipt = verifyReceipt
        self.serverAPI = serverAPI
        self.rendered = rendered
        customer = ComparedCustomer.digest(verifyReceipt, serverAPI, receipt: receipt())
        let comparison = Comparison(verifyReceipt: verifyReceipt, serverAPI: serverAPI, context: context)
        isWhole = comparison.isWhole
        guard let rendered else {
            (decisive, ofRecords) = (comparison.differences, [])
            return
        }
        decisive = Comparison(verifyReceipt: verifyReceipt, serverAPI: rendered, context: context).differences
        let served = Set(decisive.map(DifferenceKey.init))
        ofRecords = comparison.differences.filter { !served.contains(DifferenceKey($0)) }.map(\.ofRecords)
    }

    /// All differences: those that decide, then those of the records at other paths.
    var differences: [Difference] { decisive + ofRecords }

    /// The second side to display, with its differences.
    var shown: (serverAPI: ComparedAnswer, differences: [Difference]) { (rendered ?? serverAPI, decisive) }

    private struct DifferenceKey: Hashable {
        let path: String
        let identifier: String?

        init(_ difference: Difference) {
            path = difference.path
            identifier = difference.identifier
        }
    }
}
