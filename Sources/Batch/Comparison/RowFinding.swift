import Comparison

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
    /// Differences between the verifyReceipt response and the records.
    private let recordDifferences: [Difference]
    /// Differences between the verifyReceipt response and the rendered response; empty if none was rendered.
    private let responseDifferences: [Difference]

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
        recordDifferences = comparison.differences
        responseDifferences =
            rendered.map { Comparison(verifyReceipt: verifyReceipt, serverAPI: $0, context: context).differences } ?? []
    }

    /// Differences of the rendered response, and those of the records at other paths. A path that differs in both is
    /// reported once, unless the records have an unexpected difference by another rule.
    var differences: [Difference] {
        var seen: [DifferenceKey: Set<String>] = [:]
        for difference in responseDifferences { seen[DifferenceKey(difference), default: []].insert(difference.rule) }
        return responseDifferences
            + recordDifferences.filter { difference in
                guard let rules = seen[DifferenceKey(difference)] else { return true }
                return difference.verdict == .unexpected && !rules.contains(difference.rule)
            }
    }

    /// The second side to display, with its differences: the rendered response, unless only the records have
    /// unexpected differences.
    var shown: (serverAPI: ComparedAnswer, differences: [Difference]) {
        func hasUnexpected(_ differences: [Difference]) -> Bool { differences.contains { $0.verdict == .unexpected } }
        guard let rendered, hasUnexpected(responseDifferences) || !hasUnexpected(recordDifferences) else {
            return (serverAPI, recordDifferences)
        }
        return (rendered, responseDifferences)
    }

    private struct DifferenceKey: Hashable {
        let path: String
        let identifier: String?

        init(_ difference: Difference) {
            path = difference.path
            identifier = difference.identifier
        }
    }
}
