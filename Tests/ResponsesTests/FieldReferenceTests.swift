import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Apple's fields")
struct FieldReferenceTests {
    @Test("Every field of Apple's models is declared, and has a key or a reason why it has none")
    func complete() {
        for model in AppleModel.all {
            #expect(model.declared.subtracting(model.fields.map(\.name)) == [], "\(model.name)")
            for field in model.fields {
                #expect((field.wire == nil) == !field.because.isEmpty, "\(model.name).\(field.name)")
            }
        }
    }

    @Test("docs/fields.csv contains the current table; RECORD_GOLDENS=1 writes it there and fails once")
    func document() throws {
        let rows = AppleModel.all.flatMap { model in
            model.fields.map { field in
                [
                    model.name, field.name, model.wireColumn, field.wire ?? "no: \(field.because)", model.viewColumn,
                    field.view, model.documentation,
                ]
            }
        }
        let head = ["model", "field", "old place", "key", "new place", "member", "documentation"]
        #expect(
            try RecordedDocument.has(RecordedDocument.csv([head] + rows), in: "docs/fields.csv"),
            "\(RecordedDocument.hint)")
    }
}
