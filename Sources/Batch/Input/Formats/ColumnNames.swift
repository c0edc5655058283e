import ReceiptBridgeBase
import ReceiptBridgeStorage

/// The columns of a source, in which those to use are found by name. Upper and lower case are equal, unless exactly
/// one column has the name as it is written.
struct ColumnNames: Sendable {
    let names: [String]

    /// Names of columns that hold receipts, as ``folded(_:)`` returns them: `receipt`, and what Apple's documents and
    /// client libraries call them.
    private static let receiptNames: Set<String> = ["receipt", "receiptdata", "latestreceipt", "transactionreceipt"]

    /// Names of columns that hold ids if there is no `id`: those of MongoDB and Parse.
    static let otherIdNames = ["_id", "objectId"]

    /// Returns the indices of the columns that a run reads. Without an option for it, the id is in the column `id`, if
    /// there is one. With transaction ids, receipts are optional.
    func selected(by options: SourceOptions) throws(ColumnProblem) -> [ColumnRole: Int] {
        var found: [ColumnRole: Int] = [:]
        for role in [ColumnRole.transactionIds, .receipt, .id, .accountToken] {
            if let name = options[role] {
                guard let index = try find(name) else { throw .missing(name, role) }
                found[role] = index
            } else if role == .receipt {
                found[role] = try usualReceipt(isOptional: found[.transactionIds] != nil)
            } else if role == .id {
                for name in ["id"] + Self.otherIdNames where found[role] == nil { found[role] = try find(name) }
            }
        }
        return found
    }

    /// Returns the index of the column `receipt`, otherwise of the only one with another usual name.
    private func usualReceipt(isOptional: Bool) throws(ColumnProblem) -> Int? {
        if let index = try find("receipt") { return index }
        let usual = names.indices.filter { Self.receiptNames.contains(Self.folded(names[$0])) }
        guard usual.count < 2 else { throw .several(usual.map { names[$0] }) }
        guard usual.count == 1 || isOptional else { throw .missing("receipt", nil) }
        return usual.first
    }

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

/// What a column is read for.
enum ColumnRole: Sendable, Hashable, CaseIterable {
    case receipt, id, accountToken, transactionIds

    var option: String {
        switch self {
        case .receipt: "--receipt-column"
        case .id: "--id-column"
        case .accountToken: "--account-token-column"
        case .transactionIds: "--transaction-id-column"
        }
    }
}

extension SourceOptions {
    /// The name that an option gives to a column.
    subscript(role: ColumnRole) -> String? {
        switch role {
        case .receipt: receiptColumn
        case .id: idColumn
        case .accountToken: accountTokenColumn
        case .transactionIds: transactionIdColumn
        }
    }
}

/// Reason why a column cannot be found by its name.
enum ColumnProblem: Error, Sendable, Hashable {
    /// No column has this name, which an option gave for this role; `nil` if no option was given for the receipt.
    case missing(String, ColumnRole?)
    case repeated(String)
    /// Several columns have a usual name of receipts.
    case several([String])

    /// The reason for display. The inventory is the existing columns as a part of a sentence.
    func reason(
        _ inventory: String, _ names: [String] = [], suggestions: ColumnSuggestions = ColumnSuggestions([])
    ) -> String {
        switch self {
        case .repeated(let name): return "there are several columns \(name), so it is not clear which one to use"
        case .several(let names):
            return "no column receipt, and several that can hold it: \(names.joined(separator: ", "));"
                + " choose one with --receipt-column"
        case .missing(let name, let role):
            let hint = suggestions.hint(for: role ?? .receipt)
            let question = name.didYouMean(names)
            // Without an option, the name is not the user's.
            return "no column \(name); \(inventory)"
                + (role == nil && !hint.isEmpty || question.isEmpty ? hint : question)
        }
    }
}
