import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import Testing
import ReceiptBridgeTestSupport

@Suite("Table of notifications")
struct NotificationTableTests {
    private static let table = FieldTables.bundled.notifications
    private static let json = try? String(
        contentsOf: Repository.folder.appending(path: "Mappings/notifications.json"), encoding: .utf8)

    @Test("Mappings/README.md contains the current table; RECORD_GOLDENS=1 writes it there and fails once")
    func listing() throws {
        #expect(
            try RecordedDocument.has(Self.table.listing(.markdown), in: "Mappings/README.md", section: "notifications"),
            "\(RecordedDocument.hint)")
    }

    @Test("Every documented type and subtype has a row, in every profile and without conditions")
    func complete() {
        for (type, subtypes) in NotificationType.documented {
            for subtype in subtypes {
                for profile in NotificationV1Profile.allCases {
                    let row = Self.table.row(
                        type: type, subtype: subtype == "-" ? nil : subtype, profile: profile,
                        NotificationFacts())
                    #expect(row != nil, "\(type) \(subtype)")
                    #expect(row?.sends.isEmpty == false || row?.loss != nil, "\(type) \(subtype)")
                }
            }
        }
        #expect(Self.table.row(type: "SOMETHING_NEW", subtype: nil, profile: .current, NotificationFacts()) == nil)
    }

    @Test(
        "An invalid table is rejected",
        arguments: [
            ("\"model\": \"NotificationPayload\"", "\"model\": \"Payload\"", FieldTableError.Code.wrongHeader),
            ("\"sends\": [\"INITIAL_BUY\"]", "\"sends\": [\"RENEWAL\"]", .badWire),
            ("\"type\": \"REVOKE\"", "\"type\": \"INVOKE\"", .unknownModel),
            ("\"profile\": \"2020\"", "\"profile\": \"2019\"", .unknownModel),
            ("[\"familyShared\"]", "[\"shared\"]", .unknownConversion),
            ("\"sends\": [\"REVOKE\"]", "\"sends\": []", .missingKey),
            ("\"subtype\": \"VOLUNTARY\"", "\"subtyp\": \"VOLUNTARY\"", .unknownKey),
            ("\"subtype\": \"PENDING\"", "\"subtype\": \"WAITING\"", .unmappedModel),
            ("\"subtype\": \"ACCEPTED\"", "\"subtype\": \"PENDING\"", .duplicateModel),
            ("\"says\": \"false\"", "\"says\": \"no\"", .malformed),
            ("\"rows\": [", "\"rows\": [1,", .malformed),
        ])
    func faults(right: String, wrong: String, code: FieldTableError.Code) throws {
        var json = try #require(Self.json)
        json.replace(right, with: wrong)
        let error = #expect(throws: FieldTableError.self) {
            try NotificationTable(json: Array(json.utf8), file: "notifications.json")
        }
        #expect(error?.code == code && error?.file == "notifications.json", "\(error?.description ?? "")")
    }
}
