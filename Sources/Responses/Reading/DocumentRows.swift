import ReceiptBridgeBase

/// How the lists and objects of a response can be written by a program other than Apple's.
///
/// PHP has one type for lists and objects: an empty object becomes `[]` and an empty list `{}`, a list without its
/// first element an object whose names are the indices. Other programs write one object for a list of one, or the
/// reverse.
package enum RewrittenShape: String, Sendable, Hashable, CaseIterable {
    /// `{}` for an empty list.
    case emptyObject = "an empty object instead of a list"
    /// `{"0": {…}, "2": {…}}` for a list.
    case indices = "an object with indices instead of a list"
    /// `{…}` for a list of one.
    case oneObject = "one object instead of a list"
    /// `[]` for an object without members.
    case emptyList = "an empty list instead of an object"
    /// `[{…}]` or `{"0": {…}}` for an object.
    case listOfOne = "a list instead of an object"
}

/// The rows of a list, however the list is written.
package struct DocumentRows: Sendable {
    package struct Row: Sendable {
        /// The place in the list, to be appended to its path: `[2]`, or `.2` if the list is an object.
        package let place: String
        package let object: DocumentObject?
    }

    package let rows: [Row]
    /// How the list is written; `nil` if it is a list.
    package let shape: RewrittenShape?
}

extension DocumentValue {
    /// The rows of a list; `nil` if the value cannot be a list.
    ///
    /// An object is a list if its names are decimal indices, each once, in the order of the indices; it is one row if
    /// no name consists of digits. A mixture is neither.
    package var rows: DocumentRows? {
        if let elements {
            let rows = elements.enumerated().map { DocumentRows.Row(place: "[\($0)]", object: $1?.row) }
            return DocumentRows(rows: rows, shape: nil)
        }
        guard let object else { return nil }
        let members = Array(outline.children(of: index))
        guard !members.isEmpty else { return DocumentRows(rows: [], shape: .emptyObject) }
        if let row { return DocumentRows(rows: [.init(place: "", object: row)], shape: .oneObject) }
        guard members.allSatisfy(isNamedByDigits) else { return nil }
        let names = members.compactMap(outline.name)
        // JSON writers write no leading zeros, and each index once.
        guard names.allSatisfy({ $0 == "0" || !$0.hasPrefix("0") }), Set(names).count == names.count else { return nil }
        // Indices may be of any size, so they are compared as texts.
        let rows = names.sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
            .map { DocumentRows.Row(place: ".\($0)", object: object[$0]?.row) }
        return DocumentRows(rows: rows, shape: .indices)
    }

    /// The one object that a value is, and how it is written if it is not an object; `nil` if the value is none, or
    /// more than one.
    package var one: (object: DocumentObject, shape: RewrittenShape?)? {
        if let row { return (row, nil) }
        guard let rows = rows?.rows, rows.count < 2 else { return nil }
        guard let first = rows.first else { return (DocumentObject(outline: outline, index: index), .emptyList) }
        return first.object.map { ($0, .listOfOne) }
    }

    private var row: DocumentObject? {
        guard let object, !outline.children(of: index).contains(where: isNamedByDigits) else { return nil }
        return object
    }

    private func isNamedByDigits(_ member: Int) -> Bool {
        guard let name = outline.nodes[member].name, !name.range.isEmpty else { return false }
        return outline.bytes[name.range].allSatisfy { (0x30...0x39).contains($0) }
    }
}
