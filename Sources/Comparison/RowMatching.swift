import StoreTypes

/// Which row of the one side is which of the other: by transaction id, then by web order line item, then by product and
/// second of purchase, two seconds to either side. Every row has one counterpart at most.
struct RowMatching {
    /// Two rows that are one transaction.
    private(set) var pairs: [(left: ComparedRow, right: ComparedRow)] = []
    /// Without a counterpart, in their order.
    private(set) var onlyLeft: [ComparedRow] = []
    /// Without a counterpart, in their order.
    private(set) var onlyRight: [ComparedRow] = []
    /// The first pair that stands in another order than on the other side.
    private(set) var firstMoved: (left: ComparedRow, right: ComparedRow)?

    /// "Same second" of two clocks.
    static let tolerance: UInt64 = 2_000

    /// - Parameter fields: ids, the most telling first.
    init(_ left: [ComparedRow], _ right: [ComparedRow], by fields: [RowField]) {
        var partners = [Int?](repeating: nil, count: left.count)
        var isTaken = [Bool](repeating: false, count: right.count)
        for field in fields where partners.contains(nil) && isTaken.contains(false) {
            var places: [String: Int] = [:]
            for index in right.indices where !isTaken[index] {
                if let id = right[index].identifier(field) { places[id] = index }
            }
            for index in left.indices where partners[index] == nil {
                guard let id = left[index].identifier(field), let place = places.removeValue(forKey: id) else {
                    continue
                }
                partners[index] = place
                isTaken[place] = true
            }
        }
        Self.matchByPurchase(left, right, &partners, &isTaken)
        var last = -1
        for (index, partner) in partners.enumerated() {
            guard let partner else {
                onlyLeft.append(left[index])
                continue
            }
            pairs.append((left[index], right[partner]))
            if partner < last, firstMoved == nil { firstMoved = (left[index], right[partner]) }
            last = max(last, partner)
        }
        for index in right.indices where !isTaken[index] { onlyRight.append(right[index]) }
    }

    private static func matchByPurchase(
        _ left: [ComparedRow], _ right: [ComparedRow], _ partners: inout [Int?], _ isTaken: inout [Bool]
    ) {
        // By product, ascending by date: each left row looks at its neighbours only.
        var open: [String: [(date: Int64, index: Int)]] = [:]
        for index in right.indices where !isTaken[index] {
            guard let product = right[index].identifier(.productId), let date = right[index].purchaseDate else {
                continue
            }
            open[product, default: []].append((date.milliseconds, index))
        }
        guard !open.isEmpty else { return }
        for key in open.keys { open[key]?.sort { $0 < $1 } }
        for index in left.indices where partners[index] == nil {
            guard let product = left[index].identifier(.productId), let date = left[index].purchaseDate?.milliseconds,
                let candidates = open[product]
            else { continue }
            var low = candidates.startIndex
            var high = candidates.endIndex
            while low < high {
                let middle = (low + high) / 2
                if candidates[middle].date < date - Int64(tolerance) { low = middle + 1 } else { high = middle }
            }
            while low < candidates.endIndex, (candidates[low].date - date).magnitude <= tolerance {
                if !isTaken[candidates[low].index] {
                    partners[index] = candidates[low].index
                    isTaken[candidates[low].index] = true
                    break
                }
                low += 1
            }
        }
    }
}
