import ReceiptBridgeReceipts
import AppStoreReceipts
import Foundation
import ReceiptBridgeResponses
import Testing
import ReceiptBridgeTestSupport

@Suite("The library: completeness")
struct CompletenessTests {
    /// Returns the raw values of the constants in a file of the library, which are open sets.
    private static func constants(in file: String) throws -> Set<String> {
        let source = try String(
            contentsOf: Repository.folder.appending(path: "Sources/AppStoreReceipts/\(file)"), encoding: .utf8)
        return Set(source.matches(of: #/Self\(rawValue: "(\w+)"\)/#).map { String($0.1) })
    }

    @Test("Every reason of the decoders has a code, and one that is new keeps its name")
    func codes() throws {
        let decoders =
            ReceiptDecodingError.Code.allCases.map(\.rawValue) + SignedPayloadError.Code.allCases.map(\.rawValue)
        let codes = try Self.constants(in: "VerificationError.swift")
        // No receipt is opened here, so `unreadable` cannot occur.
        #expect(codes == Set(decoders).subtracting(["unreadable"]), "\(codes.symmetricDifference(decoders))")
        #expect("\(VerificationError.Code(rawValue: "newForm"))" == "newForm")
        let conversion = try Self.constants(in: "VerifyReceiptResponse+conversion.swift")
        #expect(conversion == Set(ReceiptBridgeResponses.ConversionError.Code.allCases.map(\.rawValue)))
    }

    @Test("Every documented type and subtype of notifications has a name")
    func names() throws {
        let names = try Self.constants(in: "Payloads/NotificationTypeV2.swift")
        for (type, subtypes) in NotificationType.documented where type != "MIGRATE" {
            for name in [type] + subtypes where name != "-" { #expect(names.contains(name), "\(name)") }
        }
        #expect(NotificationTypeV2.oneTimeCharge.rawValue == "ONE_TIME_CHARGE")
    }
}
