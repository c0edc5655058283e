import ReceiptBridgeBase
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import Testing
import ReceiptBridgeTestSupport

@Suite("Field tables")
struct FieldTableTests {
    private static let mappings = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().appending(path: "Mappings")

    @Test("A valid table keeps the order of its rows")
    func right() throws {
        let table = try FieldTable<AnswerField>(json: Array(ValidTable.json().utf8), file: "answer.json")
        #expect(
            table.rows.map(\.wire) == ["status", "environment", "receipt", "latest_receipt_info", "latest_receipt"])
        #expect(
            table.omitted.map(\.field) == [
                .latestExpiredReceiptInfo, .pendingRenewalInfo, .autoRenewProductId, .autoRenewStatus,
                .expirationIntent,
                .isInBillingRetryPeriod, .isRetryable, .exception, .latestExpiredReceipt,
            ] + AnswerField.refund)
    }

    /// A table, or what replaces a piece of the valid one, and the error.
    private static let faults = tableRows(
        #"""
        [] → malformed: header: not a JSON object
        { → malformed: header: not a JSON object
        {"wire": "status", "model": "status", "as": "number"} by 1 → malformed: rows[1]: not a JSON object
        "as": "number" by "as": 7 → malformed: rows[1] "status": as is not a JSON string
        "model": "VerifyReceiptAnswer" by "model": "AppReceipt" → wrongHeader: header: model is AppReceipt, must be VerifyReceiptAnswer
        "place": "the answer" by "place": "receipt" → wrongHeader: header: place is receipt, must be the answer
        "place": "the answer" by "place": "the answer", "version": 1 → unknownKey: header: unknown key version
        "omitted" by "left-out" → unknownKey: header: unknown key left-out
        {"model": "VerifyReceiptAnswer", "place": "the answer", "rows": []} → missingKey: header: missing key omitted
        , "as": "number" by  → missingKey: rows[1] "status": missing key as
        "as": "number" by "as": "number", "plist": "a" → unknownKey: rows[1] "status": unknown key plist
        "as": "number" by "as": "integer" → unknownConversion: rows[1] "status": unknown conversion integer; the conversions are text, number, numberOrNull, numberOrZero, numberAsText, nonZeroNumberAsText, flag, flagAsText, flagAsDigit, ownershipAsText, dateTriplet, expiryTriplet, cancellationTriplet, nested
        "as": "number" by "as": "dateTriplet" → unfittingConversion: rows[1] "status": dateTriplet does not fit status, a number
        "model": "environment" by "model": "country" → unknownModel: rows[2] "environment": VerifyReceiptAnswer has no property country
        "wire": "latest_receipt", by "wire": "Größe", → badWire: rows[5] "Größe": wire may only contain a-z, 0-9, _ and -
        "wire": "latest_receipt", by "wire": "receipt", → duplicateWire: rows[5] "receipt": the response already has the key receipt
        "wire": "status", by "wire": "status", "also": "status", → duplicateWire: rows[1] "status": the response already has the key status
        "model": "latestReceipt" by "model": "environment" → duplicateModel: rows[5] "latest_receipt": environment is already in the table
        "omitted": [ by "omitted": [{"model": "status", "because": "twice"}, → duplicateModel: omitted[1] "status": status is already in the table
        {"model": "latestExpiredReceiptInfo", "because": "of the test"} by {"model": "latestExpiredReceiptInfo"} → missingKey: omitted[1] "latestExpiredReceiptInfo": missing key because
        {"model": "latestExpiredReceiptInfo", "because": "of the test"}, by  → unmappedModel: header: VerifyReceiptAnswer.latestExpiredReceiptInfo is neither mapped nor omitted
        """#)

    @Test("An invalid table is rejected with code, file, row and reason", arguments: faults)
    func fault(change: String, expected: String) {
        let pieces = change.split(separator: " by ", omittingEmptySubsequences: false)
        let json = pieces.count == 1 ? change : ValidTable.json().replacing(pieces[0], with: pieces[1])
        let error = #expect(throws: FieldTableError.self) {
            try FieldTable<AnswerField>(json: Array(json.utf8), file: "answer.json")
        }
        let (code, reason) = (error?.code.rawValue ?? "", error?.description ?? "")
        #expect("\(code): \(reason.dropFirst("answer.json, ".count))" == expected)
    }

    @Test("All three keys of a date count as keys of the response")
    func datesHaveThreeKeys() throws {
        let file = "in-app.json"
        var json = try String(contentsOf: Self.mappings.appending(path: file), encoding: .utf8)
        json.replace(#""wire": "quantity""#, with: #""wire": "purchase_date_ms""#)
        let error = #expect(throws: FieldTableError.self) {
            try FieldTable<InAppField>(json: Array(json.utf8), file: file)
        }
        #expect(
            error?.description
                == #"in-app.json, rows[5] "purchase_date": the response already has the key purchase_date_ms"#)
    }

    @Test("A property list key can be mapped only once")
    func propertyListKeys() throws {
        let file = "transaction-receipt.json"
        var json = try String(contentsOf: Self.mappings.appending(path: file), encoding: .utf8)
        json.replace(#""plist": "bvrs""#, with: #""plist": "bid""#)
        let error = #expect(throws: FieldTableError.self) {
            try FieldTable<PurchaseInfoField>(json: Array(json.utf8), file: file)
        }
        #expect(error?.code == .duplicatePropertyListKey)
    }

    @Test("The bundled tables are valid and equal those in Mappings, which contains nothing else except a README")
    func bundled() throws {
        let folder = try FieldTables(directory: Self.mappings.path)
        #expect(folder.appReceipt.rows.map(\.wire) == FieldTables.bundled.appReceipt.rows.map(\.wire))
        #expect(folder.inApp.rows.map(\.wire) == FieldTables.bundled.inApp.rows.map(\.wire))
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.mappings.path)
        #expect(Set(names) == Set(FieldTables.fileNames + ["README.md"]))
    }

    @Test("A directory without one of the tables is rejected with the name of the table")
    func missingFile() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        for name in FieldTables.fileNames where name != "in-app.json" {
            try folder.write(name, try Data(contentsOf: Self.mappings.appending(path: name)))
        }
        let error = #expect(throws: FieldTableError.self) { try FieldTables(directory: folder.url.path) }
        #expect(error?.code == .unreadable)
        #expect(error?.file == "in-app.json")
    }

    @Test("Keys of purchase-info only change their hyphens")
    func hyphens() {
        for row in FieldTables.bundled.transactionReceipt.rows {
            #expect(row.wire == row.propertyListKey?.replacing("-", with: "_"))
        }
    }

    /// The bundled tables with a row for each of these properties, which they omit.
    static func tables(
        adding added: [String: [(wire: String, model: String, conversion: String)]]
    ) throws -> FieldTables {
        try FieldTables { name throws(FieldTableError) in
            let rows = added[name] ?? []
            let more = rows.map { #"{"wire": "\#($0.wire)", "model": "\#($0.model)", "as": "\#($0.conversion)"},"# }
            let table = (try? Self.table(name, without: rows.map(\.model))) ?? ""
            return Array(table.replacing(#""rows": ["#, with: #""rows": ["# + more.joined()).utf8)
        }
    }

    /// A bundled table without the rows and omissions of some properties.
    private static func table(_ file: String, without names: [String]) throws -> String {
        let text = try String(contentsOf: mappings.appending(path: file), encoding: .utf8)
        let lines = text.split(separator: "\n").filter { line in
            !names.contains { line.contains(#""model": "\#($0)""#) }
        }
        return lines.joined(separator: "\n").replacing(",\n  ]", with: "\n  ]")
    }

    @Test("A row for a property that the bundled tables omit is written")
    func addedRows() throws {
        let tables = try Self.tables(adding: [
            "transaction.json": [("price", "price", "numberAsText"), ("shop", "storefront", "text")],
            "renewal.json": [("renewal_price", "renewalPrice", "numberAsText")],
        ])
        let document = """
            {"latestTransactions":[{"price":4990,"storefront":"DEU","offerType":4}],\
            "renewals":[{"renewalPrice":990,"autoRenewStatus":1}]}
            """
        #expect(
            String(
                decoding: try DocumentConverter(tables: tables).snakeCase(Array(document.utf8)), as: UTF8.self)
                    == """
                    {"status":0,"latest_receipt_info":[{"price":"4990","shop":"DEU","is_trial_period":"false"}],\
                    "pending_renewal_info":[{"renewal_price":"990","auto_renew_status":"1"}]}
                    """)
    }

    @Test("Tables from before Apple's newest fields remain valid, and omit them")
    func tablesFromBefore() throws {
        func reduced(_ file: String, without names: [String]) throws -> [UInt8] {
            Array(try Self.table(file, without: names).utf8)
        }
        let newest = TransactionField.addedLater.map(\.rawValue)
        let table = try FieldTable<TransactionField>(
            json: reduced("transaction.json", without: newest), file: "transaction.json")
        #expect(table.rows.map(\.wire) == FieldTables.bundled.transaction.rows.map(\.wire))
        #expect(Set(table.omitted.map(\.field)) == Set(FieldTables.bundled.transaction.omitted.map(\.field)))
        for omission in table.omitted where TransactionField.addedLater.contains(omission.field) {
            #expect(omission.because == "the table is older than the property")
        }
        let renewals = try FieldTable<RenewalField>(
            json: reduced("renewal.json", without: RenewalField.addedLater.map(\.rawValue)), file: "renewal.json")
        #expect(Set(renewals.omitted.map(\.field)) == Set(FieldTables.bundled.renewal.omitted.map(\.field)))
        let error = #expect(throws: FieldTableError.self) {
            try FieldTable<TransactionField>(
                json: reduced("transaction.json", without: newest + ["price"]), file: "transaction.json")
        }
        #expect(
            error?.code == .unmappedModel && error?.reason == "TransactionPayload.price is neither mapped nor omitted")
    }

    @Test("A property without a value does not fit any conversion")
    func everyProperty() {
        for conversion in Conversion.allCases {
            #expect(!conversion.fits(TransactionKey.claims.kind))
            #expect(!conversion.fits(RenewalKey.claims.kind))
            #expect(!conversion.fits(.attributes))
        }
    }

    @Test("The table determines the order and the keys of a response")
    func overridden() throws {
        var tables: [String: [UInt8]] = [:]
        for name in FieldTables.fileNames {
            tables[name] = [UInt8](try Data(contentsOf: Self.mappings.appending(path: name)))
        }
        let rows = """
            {"wire": "place", "model": "environment", "as": "text"},
            {"wire": "status", "model": "status", "as": "number"}
            """
        let omitted = AnswerField.allCases.filter { $0 != .environment && $0 != .status }.map(\.rawValue)
            .map { #"{"model": "\#($0)", "because": "of the test"}"# }.joined(separator: ",")
        tables["answer.json"] = Array(ValidTable.json(rows: rows, omitted: omitted).utf8)
        let overriding = VerifyReceiptRenderer(
            tables: try FieldTables { name throws(FieldTableError) in tables[name] ?? [] })
        let history = PurchaseHistory(
            receipt: .app(appReceipt(purchases: [month("9")])), environment: .sandbox, submittedText: Redacted([0x78]))
        let body = overriding.receiptAnswer(history: history, requestDate: summer).body
        #expect(text(body) == #"{"place":"Sandbox","status":0}"#)
    }
}

/// A valid table of ``AnswerField``, into which errors are inserted.
private enum ValidTable {
    static let rows = """
        {"wire": "status", "model": "status", "as": "number"},
        {"wire": "environment", "model": "environment", "as": "text"},
        {"wire": "receipt", "model": "receipt", "as": "nested"},
        {"wire": "latest_receipt_info", "model": "latestReceiptInfo", "as": "nested"},
        {"wire": "latest_receipt", "model": "latestReceipt", "as": "text"}
        """
    static let omitted = [
        "latestExpiredReceiptInfo", "pendingRenewalInfo", "autoRenewProductId", "autoRenewStatus", "expirationIntent",
        "isInBillingRetryPeriod", "isRetryable", "exception",
    ].map { #"{"model": "\#($0)", "because": "of the test"}"# }.joined(separator: ",")

    static func json(rows: String = rows, omitted: String = omitted) -> String {
        #"{"model": "VerifyReceiptAnswer", "place": "the answer", "rows": [\#(rows)], "omitted": [\#(omitted)]}"#
    }
}
