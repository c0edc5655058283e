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
