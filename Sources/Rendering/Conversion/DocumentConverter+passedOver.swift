extension DocumentConverter {
    /// The keys of an answer that ``camelCase(_:)`` leaves out because no table names them: `receipt.key`,
    /// `latest_receipt_info.key`, each once, ascending.
    ///
    /// For people: long ones are cut, and characters that no key of Apple's has are `?`.
    package func keysPassedOver(in answer: [UInt8]) throws(ConversionError) -> [String] {
        let answer = try wireObject(answer)
        let receipt = try answer.object("receipt")
        let isFlat = receipt?.isFlat == true
        let flat = Self.keys(of: tables.flatTransaction)
        let ofReceipt = isFlat ? flat.union(Self.keys(of: tables.transactionReceipt)) : Self.keys(of: tables.appReceipt)
        var found = Self.unknown([answer], Self.keys(of: tables.answer), "")
        for row in tables.answer.rows {
            let place = "\(row.wire)."
            switch row.field {
            case .receipt:
                guard let receipt else { continue }
                found.formUnion(Self.unknown([receipt], ofReceipt, place))
                for list in tables.appReceipt.rows where list.field == .purchases && !isFlat {
                    let rows = try receipt.objects(list.wire) ?? []
                    found.formUnion(Self.unknown(rows, Self.keys(of: tables.inApp), "\(place)\(list.wire)."))
                }
            case .latestReceiptInfo where isFlat, .latestExpiredReceiptInfo where isFlat:
                guard let object = try answer.object(row.wire) else { continue }
                found.formUnion(Self.unknown([object], flat, place))
            case .latestReceiptInfo:
                let rows = try answer.objects(row.wire) ?? []
                found.formUnion(Self.unknown(rows, Self.keys(of: tables.transaction), place))
            case .pendingRenewalInfo where !isFlat:
                let rows = try answer.objects(row.wire) ?? []
                found.formUnion(Self.unknown(rows, Self.keys(of: tables.renewal), place))
            default:
                continue
            }
        }
        return found.sorted()
    }

    /// The keys that rows of a table are read from, spelled with `_`.
    private static func keys<Field>(of table: FieldTable<Field>) -> Set<String> {
        var keys: Set<String> = []
        for row in table.rows {
            let isDate = row.field.kind == .instant || row.field.kind == .cancellation
            for wire in [row.wire, row.also].compactMap(\.self) {
                keys.insert(wire)
                guard isDate else { continue }
                for suffix in ["_ms", "_pst", "_formatted", "_formatted_pst"] { keys.insert(wire + suffix) }
            }
        }
        return keys
    }

    private static func unknown(_ objects: [WireObject], _ known: Set<String>, _ place: String) -> Set<String> {
        var unknown: Set<String> = []
        for object in objects {
            for (key, value) in object.members where value != .null {
                guard !known.contains(key), !known.contains(key.replacing("-", with: "_")) else { continue }
                let plain = key.prefix(64).map { character -> Character in
                    let isPlain = character.isASCII && (character.isLetter || character.isNumber)
                    return isPlain || character == "_" || character == "-" ? character : "?"
                }
                unknown.insert(place + String(plain))
            }
        }
        return unknown
    }
}
