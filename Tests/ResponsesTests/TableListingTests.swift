import Foundation
import ReceiptBridgeResponses
import Testing
import ReceiptBridgeTestSupport

@Suite("Listing of the tables")
struct TableListingTests {
    @Test("Mappings/README.md contains the current tables; RECORD_GOLDENS=1 writes them there and fails once")
    func compatibility() throws {
        let text = TableListing.markdown.render(FieldTables.bundled.references)
        #expect(
            try RecordedDocument.has(text, in: "Mappings/README.md", section: "mappings"),
            "\(RecordedDocument.hint)")
    }

    @Test("Every format contains every table, key, property, conversion and reason", arguments: TableListing.allCases)
    func complete(format: TableListing) throws {
        let references = FieldTables.bundled.references
        #expect(Set(references.map(\.file)) == Set(FieldTables.fileNames).subtracting(["notifications.json"]))
        let text = FieldTables.bundled.listing(format)
        for reference in references {
            #expect(text.contains(reference.file) && text.contains(reference.place))
            for row in reference.rows {
                #expect(row.wires.allSatisfy(text.contains), "\(reference.file) \(row.model)")
                #expect(text.contains(row.model) && text.contains(row.conversion))
            }
            for (model, because) in reference.omitted { #expect(text.contains(model) && text.contains(because)) }
        }
        for row in FieldTables.bundled.notifications.rows {
            #expect(text.contains(row.type) && row.sends.allSatisfy { text.contains($0.rawValue) })
            #expect(row.loss.map(text.contains) ?? true)
        }
        if format == .json {
            let tables = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]]
            #expect(tables?.count == references.count + 1)
        }
    }

    @Test("There is one finding for each file, and an error in one file does not hide errors in another")
    func findings() {
        #expect(FieldTables.bundledFindings.map(\.file) == FieldTables.fileNames)
        #expect(FieldTables.bundledFindings.allSatisfy { $0.error == nil })
        let nowhere = FieldTables.findings(directory: "/nowhere")
        #expect(nowhere.map(\.error?.code) == FieldTables.fileNames.map { _ in .unreadable })
    }
}
