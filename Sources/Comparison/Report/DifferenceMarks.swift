/// The differences of one comparison by where they stand: part, row, field.
struct DifferenceMarks {
    private struct Place: Hashable {
        let part: Finding.Part
        let identifier: String?
    }

    /// By the field's name; under "" what is said of the row.
    private var ofRows: [Place: [String: [Difference]]] = [:]
    private var ofParts: [Finding.Part: [Difference]] = [:]

    /// Parts whose rows have ids.
    private static let lists: [Finding.Part] = [.snapshot, .latest, .renewals, .subscriptions]

    init(_ differences: [Difference]) {
        // Those that worry first: a field has one mark.
        let unexpected = differences.filter { $0.verdict == .unexpected }
        let expected = differences.filter { $0.verdict == .expected }
        for difference in unexpected + expected {
            guard let part = Self.lists.first(where: { difference.path.hasPrefix($0.rawValue) }),
                let rest = Self.rest(of: difference.path, in: part)
            else {
                ofRows[Place(part: .answer, identifier: nil), default: [:]][difference.path, default: []]
                    .append(difference)
                continue
            }
            guard let rest else {
                ofParts[part, default: []].append(difference)
                continue
            }
            ofRows[Place(part: part, identifier: difference.identifier), default: [:]][rest, default: []]
                .append(difference)
        }
    }

    /// Behind `latestTransactions[].`; empty for a whole row, nil for the part itself, nothing at all elsewhere.
    private static func rest(of path: String, in part: Finding.Part) -> String?? {
        let rest = path.dropFirst(part.rawValue.count)
        if rest.isEmpty { return .some(nil) }
        guard rest.hasPrefix("[]") else { return nil }
        return .some(String(rest.dropFirst(rest.hasPrefix("[].") ? 3 : 2)))
    }

    func ofWhole(_ part: Finding.Part) -> [Difference] { ofParts[part] ?? [] }

    func ofRow(_ identifier: String?, in part: Finding.Part) -> [String: [Difference]] {
        ofRows[Place(part: part, identifier: identifier)] ?? [:]
    }

    /// 2 where something worries, 1 where something differs, else 0.
    func urgency(of identifier: String?, in part: Finding.Part) -> Int {
        guard let found = ofRows[Place(part: part, identifier: identifier)] else { return 0 }
        return found.values.contains { $0.contains { $0.verdict == .unexpected } } ? 2 : 1
    }
}
