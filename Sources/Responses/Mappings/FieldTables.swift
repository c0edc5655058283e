import ReceiptBridgeBase

/// All field tables, loaded once and passed to the renderers.
package struct FieldTables: Sendable {
    package let answer: FieldTable<AnswerField>
    /// `receipt` of an App Receipt.
    package let appReceipt: FieldTable<AppReceiptField>
    /// The rows of `in_app`, from the attributes of the receipt.
    package let inApp: FieldTable<InAppField>
    /// The rows of `latest_receipt_info`, from the Server API.
    package let transaction: FieldTable<TransactionField>
    package let renewal: FieldTable<RenewalField>
    /// The latest object of iOS 6 responses, from the Server API.
    package let flatTransaction: FieldTable<FlatTransactionField>
    /// The flat objects of iOS 6 responses.
    package let transactionReceipt: FieldTable<PurchaseInfoField>
    /// The mapping from version 2 notifications to version 1.
    package let notifications: NotificationTable

    let names: ResponseNames

    /// The files that are embedded in the binary. A directory of tables must contain a file of each name; `Mappings/`
    /// contains these and a README.
    private static let files: KeyValuePairs<String, [UInt8]> = [
        "answer.json": PackageResources.answer_json, "app-receipt.json": PackageResources.app_receipt_json,
        "flat-transaction.json": PackageResources.flat_transaction_json, "in-app.json": PackageResources.in_app_json,
        "notifications.json": PackageResources.notifications_json, "renewal.json": PackageResources.renewal_json,
        "transaction.json": PackageResources.transaction_json,
        "transaction-receipt.json": PackageResources.transaction_receipt_json,
    ]
    package static let fileNames = files.map(\.key)

    /// The tables that are embedded in the binary. An error in them is a defect of this program and terminates it.
    package static let bundled: FieldTables = {
        do throws(FieldTableError) {
            return try FieldTables(contents: bundledFile)
        } catch {
            preconditionFailure("bundled field tables: \(error)")
        }
    }()

    /// Reads the tables of a directory, which must contain every file of ``fileNames``.
    package init(directory: String) throws(FieldTableError) {
        try self.init { name throws(FieldTableError) in try Self.file(name, in: directory) }
    }

    /// Reads the tables from a function that returns the contents of a file by its name.
    package init(contents: (String) throws(FieldTableError) -> [UInt8]) throws(FieldTableError) {
        answer = try Self.table("answer.json", contents)
        appReceipt = try Self.table("app-receipt.json", contents)
        inApp = try Self.table("in-app.json", contents)
        transaction = try Self.table("transaction.json", contents)
        renewal = try Self.table("renewal.json", contents)
        flatTransaction = try Self.table("flat-transaction.json", contents)
        transactionReceipt = try Self.table("transaction-receipt.json", contents)
        names = ResponseNames(answer, appReceipt)
        notifications = try NotificationTable(json: try contents("notifications.json"), file: "notifications.json")
    }

    /// Returns the first error of each table of a directory; see ``findings(contents:)``.
    package static func findings(directory: String) -> [(file: String, error: FieldTableError?)] {
        findings { name throws(FieldTableError) in try file(name, in: directory) }
    }

    /// Returns the result of validating each table in the binary; all errors are `nil`.
    package static var bundledFindings: [(file: String, error: FieldTableError?)] {
        findings(contents: bundledFile)
    }

    static func bundledFile(_ name: String) throws(FieldTableError) -> [UInt8] {
        files.first { $0.key == name }?.value ?? []
    }

    /// The largest table that is read, in bytes.
    private static let maximumSize = 16 << 20

    private static func file(_ name: String, in directory: String) throws(FieldTableError) -> [UInt8] {
        do throws(SystemFailure) {
            return try FileDescriptor(reading: "\(directory)/\(name)").readToEnd(atMost: maximumSize)
        } catch {
            throw FieldTableError(code: .unreadable, file: name, row: "file", reason: "cannot be read: \(error.reason)")
        }
    }

    private static func table<Field>(
        _ file: String, _ contents: (String) throws(FieldTableError) -> [UInt8]
    ) throws(FieldTableError) -> FieldTable<Field> {
        try FieldTable(json: try contents(file), file: file)
    }
}
