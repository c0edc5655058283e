import ReceiptBridgeBase
import Foundation
import ReceiptBridgeStorage
import Testing

@Suite("Decisions about rows")
struct DecisionTests {
    @Test(
        "The record that was signed last is stored",
        arguments: [
            (5, nil, RecordChange.insert, RecordChange.insert), (5, 4, .replace, .replaceAndKeepStored),
            (5, 5, .replace, .ignore), (5, 6, .ignore, .keepAsHistory),
        ] as [(Int64, Int64?, RecordChange, RecordChange)])
    func change(signed: Int64, stored: Int64?, lookedUp: RecordChange, reported: RecordChange) {
        let (signed, stored) = (Timestamp(milliseconds: signed), stored.map(Timestamp.init(milliseconds:)))
        #expect(RecordChange(lookedUp: signed, stored: stored) == lookedUp)
        #expect(RecordChange(reported: signed, stored: stored) == reported)
    }

    @Test("A new refund of a subscription, and a new subscription found by its download, need a lookup")
    func staleness() {
        #expect(StalenessCause.ownedByDownload(isSubscription: true).needsLookup)
        #expect(!StalenessCause.ownedByDownload(isSubscription: false).needsLookup)
        #expect(StalenessCause.ownedByMigration.needsLookup)
        for (isLatest, isSubscription, isKnown) in [
            (true, true, true), (true, false, false), (false, true, false), (false, false, true),
        ] {
            let cause = StalenessCause.refund(
                isLatest: isLatest, isSubscription: isSubscription, isKnownRevocation: isKnown)
            #expect(!cause.needsLookup)
        }
        #expect(StalenessCause.refund(isLatest: true, isSubscription: true, isKnownRevocation: false).needsLookup)
    }

    @Test("Every kind of data expires, belongs to a kind that does, or identifies no customer")
    func lifetimes() {
        for kind in DataKind.allCases {
            switch kind.lifetime {
            case .period(let name, let days):
                #expect(!name.isEmpty && days(Retention()) != nil, "\(kind)")
            case .sameAs(let other):
                guard case .period = other.lifetime else {
                    Issue.record("\(kind) belongs to \(other), which does not expire")
                    continue
                }
            case .archiveLimits: #expect(kind == .lastGoodAnswers)
            case .minutes: continue
            case .unlimited:
                // Ids and dates of refunded purchases are kept, so that they are not honored again.
                if kind == .revocations { continue }
                guard case .exempt = kind.erasure else {
                    Issue.record("\(kind) is kept forever")
                    continue
                }
            }
        }
    }

    @Test("Identifiers are found in a text and in the payloads of nested JWS")
    func identifiers() {
        func jws(_ payload: String) -> String { "eyJ9.\(Base64Text.urlSafeText(Array(payload.utf8))).AAAA" }
        let uuid = "7B2F0B5C-1111-4222-8333-444455556666"
        let text = #"{"a":"700","token":"\#(uuid)","inner":"\#(jws(#"{"b":701,"c":"\#(jws(#"{"d":"702"}"#))"}"#))"}"#
        let found = PersonalIdentifierScanner.all(in: text.utf8)
        #expect(found.isSuperset(of: ["700", "701", "702", uuid.lowercased()]))
    }
}

extension Base64Text {
    fileprivate static func urlSafeText(_ bytes: [UInt8]) -> String {
        String(decoding: encodeURLSafe(bytes), as: UTF8.self)
    }
}
