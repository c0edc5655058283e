import Comparison

/// What a comparison of one receipt found: verifyReceipt's answer against the records of the App Store Server API, and
/// against the answer that is made of them, which is what a client would see.
struct RowFinding: Sendable {
    let verifyReceipt: ComparedAnswer
    let serverAPI: ComparedAnswer
    /// Nil if there is no answer made of the records.
    let rendered: ComparedAnswer?
    /// See ``ComparedCustomer``.
    let customer: Int64
    /// See ``Comparison/isWhole``.
    let isWhole: Bool
    private let ofRecords: [Difference]
    private let ofAnswer: [Difference]

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
        ofRecords = comparison.differences
        ofAnswer =
            rendered.map { Comparison(verifyReceipt: verifyReceipt, serverAPI: $0, context: context).differences } ?? []
    }

    /// Each place once: what the answer shows, and what the records show besides.
    var differences: [Difference] {
        var seen: [Place: Set<String>] = [:]
        for difference in ofAnswer { seen[Place(difference), default: []].insert(difference.rule) }
        return ofAnswer
            + ofRecords.filter { difference in
                guard let rules = seen[Place(difference)] else { return true }
                return difference.verdict == .unexpected && !rules.contains(difference.rule)
            }
    }

    /// The second side for people, with what differs in it: the answer, unless only the records worry.
    var shown: (serverAPI: ComparedAnswer, differences: [Difference]) {
        func worries(_ differences: [Difference]) -> Bool { differences.contains { $0.verdict == .unexpected } }
        guard let rendered, worries(ofAnswer) || !worries(ofRecords) else { return (serverAPI, ofRecords) }
        return (rendered, ofAnswer)
    }

    private struct Place: Hashable {
        let path: String
        let identifier: String?

        init(_ difference: Difference) {
            path = difference.path
            identifier = difference.identifier
        }
    }
}
