import Responses

/// Meanings of the keys in verifyReceipt's objects, derived from the field tables.
enum ResponseKeys {
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
        let kind: ValueKind
        /// The part of the date that the key contains; `nil` if the property is not a date.
        let date: DateKey?
    }

    /// Keys of rows in `in_app` and `latest_receipt_info`, including iOS 6 rows. If two tables have a key, the later
    /// one counts.
    static let transaction = meanings(of: FieldTables.bundled.transactionReceipt)
        .merging(meanings(of: FieldTables.bundled.flatTransaction)) { $1 }
        .merging(meanings(of: FieldTables.bundled.inApp)) { $1 }
        .merging(meanings(of: FieldTables.bundled.transaction)) { $1 }

    /// Keys of rows in `pending_renewal_info`.
    static let renewal: [String: Meaning] = {
        var keys = meanings(of: FieldTables.bundled.renewal)
        for row in FieldTables.bundled.renewal.rows {
            guard let also = row.also else { continue }
            keys[also] = Meaning(target: .field(.priceConsentStatus), kind: row.field.kind, date: nil)
        }
        return keys
    }()

    /// Keys of an App Receipt.
    static let receipt = meanings(of: FieldTables.bundled.appReceipt)

    /// Keys of the top level.
    static let answer = Dictionary(uniqueKeysWithValues: FieldTables.bundled.answer.rows.map { ($0.wire, $0.field) })

    /// Returns the meanings of all keys of a table.
    private static func meanings<Field>(of table: FieldTable<Field>) -> [String: Meaning] {
        var meanings: [String: Meaning] = [:]
        for row in table.rows {
            let name = row.field.rawValue
            let target = RowField.named[name].map(Target.field) ?? .property(name)
            for key in row.keys {
                meanings[key.name] = Meaning(target: target, kind: row.field.kind, date: key.date)
            }
        }
        return meanings
    }
}
