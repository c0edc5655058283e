import Storage

/// The columns of a source, in which those to use are found by name. Upper and lower case are equal, unless exactly
/// one column has the name as it is written.
struct ColumnNames: Sendable {
    /// Names in the order of the columns.
    let names: [String]

    /// Names of columns that hold receipts, as ``folded(_:)`` returns them: `receipt`, and what Apple's documents and
    /// client libraries call them.
    private static let receiptNames: Set<String> = ["receipt", "receiptdata", "latestreceipt", "transactionreceipt"]

    /// Returns the indices of the columns that a run reads. Without an option for it, the id is in the column `id`, if
    /// there is one. With transaction ids, receipts are optional.
    func selected(
        by options: SourceOptions
    ) throws(ColumnProblem) -> (receipt: Int?, id: Int?, accountToken: Int?, transactionIds: Int?) {
        let transactionIds: Int? = if let name = options.transactionIdColumn { try index(of: name) } else { nil }
        let receipt = try self.receipt(options.receiptColumn, isOptional: transactionIds != nil)
        let id: Int? = if let name = options.idColumn { try index(of: name) } else { try find("id") }
        let accountToken: Int? = if let name = options.accountTokenColumn { try index(of: name) } else { nil }
        return (receipt, id, accountToken, transactionIds)
    }

    /// Returns the index of the column with the receipt: the one with the name; without a name `receipt`, otherwise
    /// the only column with another usual name.
    private func receipt(_ name: String?, isOptional: Bool) throws(ColumnProblem) -> Int? {
        if let name { return try index(of: name) }
        if let index = try find("receipt") { return index }
        let usual = names.indices.filter { Self.receiptNames.contains(Self.folded(names[$0])) }
        guard usual.count < 2 else { throw .several(usual.map { names[$0] }) }
        guard let index = usual.first else {
            guard isOptional else { throw .missing("receipt") }
            return nil
        }
        return index
    }

    /// Returns the index of a column that must exist.
    private func index(of name: String) throws(ColumnProblem) -> Int {
        guard let index = try find(name) else { throw .missing(name) }
        return index
    }

    /// Returns the index of a column; `nil` if no column has the name.
    private func find(_ name: String) throws(ColumnProblem) -> Int? {
        let same = names.indices.filter { names[$0] == name }
        let found = same.isEmpty ? names.indices.filter { SQLName.areSame(names[$0], name) } : same
        guard found.count < 2 else { throw .repeated(name) }
        return found.first
    }

    /// Returns the ASCII letters and digits of a name, in lower case. For example, `latestreceipt` for
    /// `Latest_Receipt`.
    private static func folded(_ name: String) -> String {
        String(name.unicodeScalars.filter { $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0) })
            .lowercased()
    }
}

/// Reason why a column cannot be found by its name.
enum ColumnProblem: Error, Sendable, Hashable {
    case missing(String)
    /// Several columns have this name.
    case repeated(String)
    /// Several columns have a usual name of receipts.
    case several([String])

    /// The reason for display.
    ///
    /// - Parameters:
    ///   - inventory: The existing columns, as a part of a sentence.
    ///   - suggestions: Columns that may be meant.
    func reason(_ inventory: String, suggestions: ColumnSuggestions = ColumnSuggestions([])) -> String {
        switch self {
        case .repeated(let name): return "there are several columns \(name), so it is not clear which one to use"
        case .several(let names):
            return "no column receipt, and several that can hold it: \(names.joined(separator: ", "));"
                + " choose one with --receipt-column"
        case .missing(let name):
            return "no column \(name); \(inventory)\(suggestions.hint)"
        }
    }
}
