package import Foundation

/// All tables together, loaded once and handed to the renderers.
package struct FieldTables: Sendable {
    /// The top level.
    package let answer: FieldTable<AnswerField>
    /// `receipt` of an App Receipt.
    package let appReceipt: FieldTable<AppReceiptField>
    /// The rows of `in_app`, as the blob holds them.
    package let inApp: FieldTable<InAppField>
    /// The rows of `latest_receipt_info`, as the Server API tells them.
    package let transaction: FieldTable<TransactionField>
    /// The rows of `pending_renewal_info`.
    package let renewal: FieldTable<RenewalField>
    /// The latest object of iOS 6, as the Server API tells it.
    package let flatTransaction: FieldTable<FlatTransactionField>
    /// The flat objects of iOS 6.
    package let transactionReceipt: FieldTable<PurchaseInfoField>
    /// Which notifications of version 1 one of version 2 becomes.
    package let notifications: NotificationTable

    /// The files of a folder of tables; `Mappings/` holds these and a README.
    package static let fileNames = [
        "answer.json", "app-receipt.json", "flat-transaction.json", "in-app.json", "notifications.json", "renewal.json",
        "transaction.json", "transaction-receipt.json",
    ]

    /// The tables in the binary. They are part of the program: a fault in them is a defect of ours and ends it.
    package static let bundled: FieldTables = {
        do throws(FieldTableError) {
            return try FieldTables(contents: bundledFile)
        } catch {
            preconditionFailure("bundled field tables: \(error)")
        }
    }()

    /// The tables of a folder, which must hold every file of ``fileNames``.
    package init(directory: URL) throws(FieldTableError) {
        try self.init { name throws(FieldTableError) in try Self.file(name, in: directory) }
    }

    /// The tables from wherever `contents` finds a file of that name.
    package init(contents: (String) throws(FieldTableError) -> [UInt8]) throws(FieldTableError) {
        answer = try Self.table("answer.json", contents)
        appReceipt = try Self.table("app-receipt.json", contents)
        inApp = try Self.table("in-app.json", contents)
        transaction = try Self.table("transaction.json", contents)
        renewal = try Self.table("renewal.json", contents)
        flatTransaction = try Self.table("flat-transaction.json", contents)
        transactionReceipt = try Self.table("transaction-receipt.json", contents)
        notifications = try NotificationTable(json: try contents("notifications.json"), file: "notifications.json")
    }

    /// What is wrong with each table of a folder; see ``findings(contents:)``.
    package static func findings(directory: URL) -> [(file: String, error: FieldTableError?)] {
        findings { name throws(FieldTableError) in try file(name, in: directory) }
    }

    /// What is wrong with each table in the binary: nothing.
    package static var bundledFindings: [(file: String, error: FieldTableError?)] {
        findings(contents: bundledFile)
    }

    private static func bundledFile(_ name: String) throws(FieldTableError) -> [UInt8] {
        switch name {
        case "answer.json": PackageResources.answer_json
        case "app-receipt.json": PackageResources.app_receipt_json
        case "flat-transaction.json": PackageResources.flat_transaction_json
        case "in-app.json": PackageResources.in_app_json
        case "notifications.json": PackageResources.notifications_json
        case "renewal.json": PackageResources.renewal_json
        case "transaction.json": PackageResources.transaction_json
        default: PackageResources.transaction_receipt_json
        }
    }

    private static func file(_ name: String, in directory: URL) throws(FieldTableError) -> [UInt8] {
        do {
            return [UInt8](try Data(contentsOf: directory.appending(path: name)))
        } catch {
            throw FieldTableError(
                code: .unreadable, file: name, row: "file", reason: "cannot be read: \(error.localizedDescription)")
        }
    }

    private static func table<Field>(
        _ file: String, _ contents: (String) throws(FieldTableError) -> [UInt8]
    ) throws(FieldTableError) -> FieldTable<Field> {
        try FieldTable(json: try contents(file), file: file)
    }
}
