import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Apple's fields")
struct FieldReferenceTests {
    @Test("Every field of Apple's models is declared, and has a key or a reason why it has none")
    func complete() {
        for model in AppleModel.all {
            #expect(model.declared.isSubset(of: model.fields.map(\.name)), "\(model.name)")
            for field in model.fields {
                #expect((field.wire == nil) == !field.because.isEmpty, "\(model.name).\(field.name)")
            }
        }
    }

    @Test("docs/FIELDS.md contains the current table; RECORD_GOLDENS=1 writes it there and fails once")
    func document() throws {
        #expect(try RecordedDocument.has(Self.markdown, in: "docs/FIELDS.md"), "\(RecordedDocument.hint)")
    }

    private static var markdown: String {
        var text = """
            # Apple's fields

            Every field of the App Store Server API 1.21 and of App Store Server Notifications 2, and where its value goes. This
            document is generated from `Mappings/*.json` and from the types of Apple's models (`Tests/ResponsesTests/AppleModels.swift`);
            a test compares them (`RECORD_GOLDENS=1` rewrites it).

            - `/v1` is the [customer view](COMPATIBILITY.md#the-customer-view). Its transactions, renewals and app transaction are Apple's
              payloads unchanged, so fields that are newer than this list are in it too.
            - A verifyReceipt response has only the keys that Apple's had. A field without a key can be given one with a table of your own,
              except for objects and lists: [Mappings](../Mappings/README.md).
            - Bodies that are forwarded as version 2 are Apple's signed text unchanged: [FORWARDING](FORWARDING.md).

            """
        for model in AppleModel.all {
            text += "\n## \(model.name)\n\n[Apple's documentation](\(model.documentation))\n\n"
            text += "| field | \(model.wireColumn) | \(model.viewColumn) |\n|---|---|---|\n"
            for field in model.fields {
                let wire = field.wire.map { "`\($0)`" } ?? "no: \(field.because.replacing("|", with: "\\|"))"
                text += "| `\(field.name)` | \(wire) | `\(field.view)` |\n"
            }
        }
        return text
    }
}
