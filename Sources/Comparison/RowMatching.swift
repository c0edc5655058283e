import ReceiptBridgeBase

/// Pairs the rows of two sides: by transaction id, then by web order line item id, then by product and purchase date
/// with a tolerance of 2 seconds. Each row is in at most one pair.
struct RowMatching {
    private(set) var pairs: [(left: ComparedRow, right: ComparedRow)] = []
    /// Rows of the left side without a counterpart, in their order.
    private(set) var onlyLeft: [ComparedRow] = []
    /// Rows of the right side without a counterpart, in their order.
    private(set) var onlyRight: [ComparedRow] = []
    /// The first two pairs whose order differs: the row that the left side has first, and the one that the right side
    /// has first. `nil` if the order is the same.
    private(set) var firstSwapped: (left: ComparedRow, right: ComparedRow)?
    /// Indices of the pairs that are first and last on the right side. On the left side it is the order of the pairs.
    private(set) var rightEnds = (first: 0, last: 0)

    /// Tolerance between two clocks, in milliseconds.
    static let tolerance: UInt64 = 2_000

    /// - Parameter fields: Fields with ids to match by, the most specific first.
    init(_ left: [ComparedRow], _ right: [ComparedRow], by fields: [RowField]) {
        var partners = [Int?](repeating: nil, count: left.count)
        var isMatched = [Bool](repeating: false, count: right.count)
        for field in fields where partners.contains(nil) && isMatched.contains(false) {
            var rightIndices: [String: Int] = [:]
            for index in right.indices where !isMatched[index] {
                if let id = right[index].identifier(field) { rightIndices[id] = index }
            }
            for index in left.indices where partners[index] == nil {
                guard let id = left[index].identifier(field), let rightIndex = rightIndices.removeValue(forKey: id)
                else { continue }
                partners[index] = rightIndex
                isMatched[rightIndex] = true
            }
        }
        Self.matchByPurchase(left, right, &partners, &isMatched)
        var last = (left: 0, right: -1)
        var firstRight = Int.max
        for (index, partner) in partners.enumerated() {
            guard let partner else {
                onlyLeft.append(left[index])
                continue
            }
            pairs.append((left[index], right[partner]))
            if partner < firstRight { (firstRight, rightEnds.first) = (partner, pairs.count - 1) }
            if partner > last.right {
                last = (index, partner)
                rightEnds.last = pairs.count - 1
            } else if firstSwapped == nil {
                firstSwapped = (left[last.left], right[partner])
            }
        }
        for index in right.indices where !isMatched[index] { onlyRight.append(right[index]) }
    }

    private static func matchByPurchase(
        _ left: [ComparedRow], _ right: [ComparedRow], _ partners: inout [Int?], _ isMatched: inout [Bool]
    ) {
        // Candidates by product, in ascending order of date: binary search finds the candidates within the tolerance.
        var unmatched: [String: [(date: Int64, index: Int)]] = [:]
        for index in right.indices where !isMatched[index] {
            guard let product = right[index].identifier(.productId), let date = right[index].purchaseDate else {
                continue
            }
            unmatched[product, default: []].append((date.milliseconds, index))
        }
        guard !unmatched.isEmpty else { return }
        for key in unmatched.keys { unmatched[key]?.sort { $0 < $1 } }
        for index in left.indices where partners[index] == nil {
            guard let product = left[index].identifier(.productId), let date = left[index].purchaseDate?.milliseconds,
                let candidates = unmatched[product]
            else { continue }
            var low = candidates.startIndex
            var high = candidates.endIndex
            while low < high {
                let middle = (low + high) / 2
                if candidates[middle].date < date - Int64(tolerance) { low = middle + 1 } else { high = middle }
            }
            while low < candidates.endIndex, (candidates[low].date - date).magnitude <= tolerance {
                if !isMatched[candidates[low].index] {
                    partners[index] = candidates[low].index
                    isMatched[candidates[low].index] = true
                    break
                }
                low += 1
            }
        }
    }
}

/// The rows of a list without duplicates: the last row with an id, at the position of the first.
struct UniqueRows {
    private(set) var rows: [ComparedRow] = []
    /// Later rows with an id that is in the list more than once, in their order.
    private(set) var repeated: [ComparedRow] = []

    init(_ all: [ComparedRow]) {
        var indices: [String: Int] = [:]
        rows.reserveCapacity(all.count)
        for row in all {
            guard let id = row.identifier(.transactionId) else {
                rows.append(row)
                continue
            }
            if let index = indices[id] {
                rows[index] = row
                repeated.append(row)
            } else {
                indices[id] = rows.count
                rows.append(row)
            }
        }
    }
}
