import AppStorePayloads
import AppStoreReceipts
import Foundation
import ReceiptDecoding
import Responses
import Testing
import TestSupport

@Suite("The library: completeness")
struct CompletenessTests {
    @Test("Every reason of the decoders has a code")
    func codes() {
        let decoders =
            ReceiptDecodingError.Code.allCases.map(\.rawValue) + SignedPayloadError.Code.allCases.map(\.rawValue)
        let codes = Set(VerificationError.Code.allCases.map(\.rawValue))
        // No receipt is opened here, so `unreadable` cannot occur.
        #expect(codes == Set(decoders).subtracting(["unreadable"]), "\(codes.symmetricDifference(decoders))")
    }

    @Test("Every documented type and subtype of notifications has a name")
    func names() throws {
        let file = Repository.folder.appending(path: "Sources/AppStoreReceipts/Payloads/NotificationTypeV2.swift")
        let source = try String(contentsOf: file, encoding: .utf8)
        for (type, subtypes) in NotificationTable.documented where type != "MIGRATE" {
            for name in [type] + subtypes where name != "-" { #expect(source.contains("\"\(name)\""), "\(name)") }
        }
        #expect(NotificationTypeV2.oneTimeCharge.rawValue == "ONE_TIME_CHARGE")
    }
}
