import Responses

/// Meanings of the keys in verifyReceipt's objects, derived from the field tables.
enum ResponseKeys {
    /// The part of a property that a key contains.
    enum Part: Sendable {
        /// The value itself. For a date: the text in GMT, or in iOS 6 responses the milliseconds.
        case value(ValueKind)
        /// `X_ms`: the date in milliseconds.
        case milliseconds
        /// `X_formatted`: the date as text in GMT.
        case formatted
        /// `X_pst`, `X_formatted_pst`: the same date in another time zone.
        case repetition
    }

    /// Destination of a key's value.
    enum Target: Sendable {
        /// A field of rows.
        case field(RowField)
        /// A property that the App Store Server API does not have.
        case property(String)
    }

    /// Meaning of one key.
    struct Meaning: Sendable {
        let target: Target
        let part: Part

        /// `true` if the property is a date, in any of its spellings.
        var isDate: Bool {
            switch part {
            case .value(let kind): kind == .instant || kind == .cancellation
            case .milliseconds, .formatted, .repetition: true
            }
        }
    }

    /// Keys of rows in `in_app` and `latest_receipt_info`, including iOS 6 rows.
    static let transaction = table { add in
        for row in FieldTables.bundled.transactionReceipt.rows {
            add(row.wire, row.also, row.field.rawValue, row.field.kind)
        }
        for row in FieldTables.bundled.flatTransaction.rows {
            add(row.wire, nil, row.field.rawValue, row.field.kind)
        }
        for row in FieldTables.bundled.inApp.rows { add(row.wire, row.also, row.field.rawValue, row.field.kind) }
        for row in FieldTables.bundled.transaction.rows { add(row.wire, row.also, row.field.rawValue, row.field.kind) }
    }

    /// Keys of rows in `pending_renewal_info`.
    static let renewal = table { add in
        for row in FieldTables.bundled.renewal.rows {
            add(row.wire, nil, row.field.rawValue, row.field.kind)
            guard let also = row.also else { continue }
            add(also, nil, RowField.priceConsentStatus.name, row.field.kind)
        }
    }

    /// Keys of an App Receipt.
    static let receipt = table { add in
        for row in FieldTables.bundled.appReceipt.rows {
            add(row.wire, row.also, row.field.rawValue, row.field.kind)
        }
    }

    /// Keys of the top level.
    static let answer = Dictionary(uniqueKeysWithValues: FieldTables.bundled.answer.rows.map { ($0.wire, $0.field) })

    /// Builds a table of keys. For a date, the keys of all of its spellings are added: `X`, `X_ms`, `X_formatted`,
    /// `X_pst` and `X_formatted_pst`.
    private static func table(_ rows: ((String, String?, String, ValueKind) -> Void) -> Void) -> [String: Meaning] {
        var meanings: [String: Meaning] = [:]
        rows { wire, also, name, kind in
            let target = RowField.named[name].map(Target.field) ?? .property(name)
            for wire in [wire, also].compactMap(\.self) {
                meanings[wire] = Meaning(target: target, part: .value(kind))
                guard kind == .instant || kind == .cancellation else { continue }
                meanings["\(wire)_ms"] = Meaning(target: target, part: .milliseconds)
                meanings["\(wire)_formatted"] = Meaning(target: target, part: .formatted)
                meanings["\(wire)_pst"] = Meaning(target: target, part: .repetition)
                meanings["\(wire)_formatted_pst"] = Meaning(target: target, part: .repetition)
            }
        }
        return meanings
    }
}
