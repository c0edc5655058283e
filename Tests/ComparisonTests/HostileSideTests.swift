import ReceiptBridgeComparison
import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Comparison input that is not a verifyReceipt response")
struct HostileSideTests {
    @Test(
        "A document that is not a verifyReceipt response is rejected with the reason",
        arguments: [
            ("", ComparisonError.Code.empty), (" \n", .empty), ("<!DOCTYPE html><html></html>", .html),
            ("null", .malformed), ("[]", .malformed), ("{", .malformed), ("{\"status\":0}x", .malformed),
            ("{}", .notAnAnswer), ("{\"signedTransactions\":[]}", .notAnAnswer),
            ("{\"status\":0,\"receipt\":5}", .badValue),
            ("{\"status\":0,\"receipt\":{\"in_app\":7}}", .badValue),
            ("{\"status\":0,\"receipt\":[{},{}]}", .badValue),
            ("{\"status\":0,\"receipt\":{\"in_app\":[1]}}", .badValue),
        ])
    func answers(text: String, code: ComparisonError.Code) {
        let error = #expect(throws: ComparisonError.self) { try ComparedAnswer(verifyReceipt: Array(text.utf8)) }
        #expect(error?.code == code)
    }

    @Test(
        "A document that is not a history is rejected with the reason",
        arguments: [
            ("", ComparisonError.Code.empty), ("<html>", .html), ("7", .malformed), ("{}", .notAnAnswer),
            ("{\"signedTransactions\":[\"eyJ.e.s\"]}", .signedRow), ("{\"signedTransactions\":7}", .badValue),
            ("{\"signedTransactions\":[{\"purchaseDate\":\"soon\"}]}", .badValue),
        ])
    func histories(text: String, code: ComparisonError.Code) {
        let error = #expect(throws: ComparisonError.self) {
            try ComparedAnswer(RecordedRecords(history: [Array(text.utf8)], statuses: nil))
        }
        #expect(error?.code == code)
    }

    @Test("A missing side is rejected")
    func missing() {
        #expect(throws: ComparisonError.self) { try ComparedAnswer(verifyReceipt: nil) }
        #expect(throws: ComparisonError.self) { try ComparedAnswer(RecordedRecords(history: nil, statuses: nil)) }
    }

    @Test("5,000 rows are compared; 5,001 are rejected")
    func manyRows() throws {
        var fixture = ComparisonFixture()
        let rows = (0..<4_997).map {
            ComparisonFixture.purchase(
                "\(10_000 + $0)", of: "issue", "Non-Consumable", at: ComparisonFixture.now - Int64($0) * 1_000)
        }
        fixture.latest += rows.map(\.wire)
        fixture.history += rows.map(\.row)
        #expect(try fixture.differences() == [])
        fixture.latest.append(fixture.latest[0])
        let error = #expect(throws: ComparisonError.self) { try fixture.verifyReceipt() }
        #expect(error?.code == .tooManyRows)
        fixture.history.append(fixture.history[0])
        #expect(throws: ComparisonError.self) { try fixture.serverAPI() }
    }

    @Test("Damaged responses and histories cause an error or differences")
    func damaged() throws {
        var generator = SeededGenerator("damaged")
        let fixture = ComparisonFixture()
        let answer = try ComparisonFixture.bytes(fixture.answer)
        let history = try ComparisonFixture.bytes(
            fixture.envelope.merging(["signedTransactions": fixture.history]) { $1 })
        let (left, right) = (try fixture.verifyReceipt(), try fixture.serverAPI())
        func damage(_ bytes: [UInt8]) -> [UInt8] {
            var bytes = bytes
            for _ in 0..<Int.random(in: 1...3, using: &generator) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.removeSubrange(index...)
                case 2: bytes.remove(at: index)
                default: bytes.insert(contentsOf: Array("9999999999".utf8), at: index)
                }
            }
            return bytes
        }
        for _ in 0..<TestSize.pick(debug: 300, release: 1_500) {
            if let damaged = try? ComparedAnswer(verifyReceipt: damage(answer)) {
                _ = Comparison(verifyReceipt: damaged, serverAPI: right, context: fixture.context)
                _ = Comparison(verifyReceipt: left, serverAPI: damaged, context: fixture.context)
            }
            if let damaged = try? ComparedAnswer(RecordedRecords(history: [damage(history)], statuses: nil)) {
                _ = Comparison(verifyReceipt: left, serverAPI: damaged, context: fixture.context)
            }
        }
    }

    @Test("A subscription of 100 rows, the most that verifyReceipt sends, is compared without a difference")
    func hundredRows() throws {
        var fixture = ComparisonFixture()
        for index in 0..<97 {
            fixture.add(
                ComparisonFixture.period(
                    "\(1_000 + index)", start: ComparisonFixture.ago(41 + Int64(index))))
        }
        #expect(fixture.latest.count == 100 && fixture.history.count == 100)
        #expect(try fixture.differences() == [])
    }
}
