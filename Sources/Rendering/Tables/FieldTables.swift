package import Foundation

/// All tables together, loaded once and handed to the renderers.
package struct FieldTables: Sendable {
    /// The top level.
    package let answer: FieldTable<AnswerField>
    /// `receipt` of an App Receipt.
    package let appReceipt: FieldTable<AppReceiptField>
    /// The rows of `in_app`, as the blob holds them.
    package let inApp: FieldTable<InAppField>
    /// The flat objects of iOS 6.
    package let transactionReceipt: FieldTable<PurchaseInfoField>

    /// The files of a folder of tables; `Mappings/` holds these and a README.
    package static let fileNames = ["answer.json", "app-receipt.json", "in-app.json", "transaction-receipt.json"]

    /// The tables in the binary. They are part of the program: a fault in them is a defect of ours and ends it.
    package static let bundled: FieldTables = {
        do throws(FieldTableError) {
            return try FieldTables { name throws(FieldTableError) in
                switch name {
                case "answer.json": PackageResources.answer_json
                case "app-receipt.json": PackageResources.app_receipt_json
                case "in-app.json": PackageResources.in_app_json
                default: PackageResources.transaction_receipt_json
                }
            }
        } catch {
            preconditionFailure("bundled field tables: \(error)")
        }
    }()

    /// The tables of a folder, which must hold every file of ``fileNames``.
    package init(directory: URL) throws(FieldTableError) {
        try self.init { name throws(FieldTableError) in
            do {
                return [UInt8](try Data(contentsOf: directory.appending(path: name)))
            } catch {
                throw FieldTableError(
                    code: .unreadable, file: name, row: "file", reason: "cannot be read: \(error.localizedDescription)")
            }
        }
    }

    /// The tables from wherever `contents` finds a file of that name.
    package init(contents: (String) throws(FieldTableError) -> [UInt8]) throws(FieldTableError) {
        answer = try Self.table("answer.json", contents)
        appReceipt = try Self.table("app-receipt.json", contents)
        inApp = try Self.table("in-app.json", contents)
        transactionReceipt = try Self.table("transaction-receipt.json", contents)
    }

    private static func table<Field>(
        _ file: String, _ contents: (String) throws(FieldTableError) -> [UInt8]
    ) throws(FieldTableError) -> FieldTable<Field> {
        try FieldTable(json: try contents(file), file: file)
    }
}
