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
        let rendered = rendered?.echoing(verifyReceipt)
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

extension ComparedAnswer {
    /// The same with the other side's `latest_receipt`, if both have one: only Apple can sign a newer receipt, so that it differs
    /// in every answer says nothing about this one.
    fileprivate func echoing(_ other: ComparedAnswer) -> ComparedAnswer {
        func place(_ answer: ComparedAnswer) -> Int? { answer.properties.firstIndex { $0.name == "latestReceipt" } }
        guard let own = place(self), let theirs = place(other) else { return self }
        var answer = self
        answer.properties[own] = other.properties[theirs]
        return answer
    }
}
