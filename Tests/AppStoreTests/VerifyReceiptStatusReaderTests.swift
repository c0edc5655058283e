import ReceiptBridgeAppStore
import ReceiptBridgeBase
import Testing

@Suite("verifyReceipt status reader")
struct VerifyReceiptStatusReaderTests {
    @Test(
        "The status is the last top-level number of that name",
        arguments: [
            (#"{"status":0}"#, 0),
            ("\u{20}\r\n\t{ \"status\" : 21007 } \n", 21007),
            (#"{"receipt":{"status":1},"status":0}"#, 0),
            (#"{"status":0,"receipt":{"status":1}}"#, 0),
            (#"{"a":[{"status":1},[[{"status":2}]]],"status":3,"b":[{"status":4}]}"#, 3),
            (#"{"a":"\",\"status\":1","status":0,"b":"}"}"#, 0),
            (#"{"status":1,"status":21002}"#, 21002),
            (#"{"status":"x","status":0}"#, 0),
            (#"{"st\u0061tus":21003}"#, 21003),
            (#"{"":{},"e":[],"n":null,"t":true,"f":false,"x":-1.5e+10,"y":0.1E-2,"status":999999999}"#, 999_999_999),
            (#"{"Status":1,"status ":2," status":3,"statuses":4,"statu":5,"status":6}"#, 6),
            (#"{"é\ud83d\ude00\/\b\f\n\r\t\\":"\u00e9","status":7}"#, 7),
        ] + ignored.map { ($0, nil) } as [(String, Int?)])
    func status(text: String, status: Int?) throws {
        #expect(try VerifyReceiptStatusReader.scan(Array(text.utf8)).status == status)
    }

    /// The status is nested or not a plain number.
    private static let ignored = [
        "{}", #"{"receipt":{"status":0}}"#, #"{"status":null}"#, #"{"status":true}"#, #"{"status":[0]}"#,
        #"{"status":{"status":0}}"#, #"{"status":""}"#, #"{"status":"0x"}"#, #"{"status":-1}"#, #"{"status":0.0}"#,
        #"{"status":2e4}"#, #"{"status":1234567890}"#, #"{"status":99999999999999999999999}"#, #"{"status":"+1"}"#,
        #"{"status":0,"status":{}}"#, #"{"status":"٣"}"#, #"{"status":"21005"}"#, #"{"status":"\u0032\u0031"}"#,
    ]

    @Test(
        "is_retryable is read in both spellings and all accepted forms",
        arguments: [
            (#""is_retryable":true"#, true), (#""is_retryable":false"#, false), (#""is-retryable":true"#, true),
            (#""is-retryable": 1"#, true), (#""is_retryable":0"#, false), (#""is_retryable":"true""#, true),
            (#""is_retryable":"false""#, false), (#""is_retryable":"1""#, true),
            (#""is_retryable":true,"is-retryable":false"#, false), (#""is\u005fretryable":true"#, true),
            (#""is_retryable":null"#, nil), (#""is_retryable":2"#, nil), (#""is_retryable":"yes""#, nil),
            (#""is_retryable":[true]"#, nil), (#""x":{"is_retryable":true}"#, nil),
        ] as [(String, Bool?)])
    func isRetryable(member: String, value: Bool?) throws {
        #expect(try VerifyReceiptStatusReader.scan(Array("{\(member),\"status\":21100}".utf8)).isRetryable == value)
    }

    @Test(
        "Only the statuses 0 and 21006 promise a receipt, which is an object at the top level",
        arguments: [
            (#"{"status":0}"#, true), (#"{"status":21006}"#, true), (#"{"status":0,"receipt":null}"#, true),
            (#"{"status":0,"receipt":"x"}"#, true), (#"{"status":0,"receipt":[{}]}"#, true),
            (#"{"status":0,"x":{"receipt":{}}}"#, true), (#"{"receipt":{},"status":0,"receipt":1}"#, true),
            (#"{"status":0,"receipt":{}}"#, false), (#"{"r\u0065ceipt":{"bid":"a"},"status":21006}"#, false),
            (#"{"status":21002}"#, false), (#"{"status":21007}"#, false), (#"{"status":2}"#, false), ("{}", false),
        ])
    func receipt(text: String, isMissing: Bool) throws {
        #expect(try VerifyReceiptStatusReader.scan(Array(text.utf8)).lacksReceipt == isMissing)
    }

    @Test(
        "A body that is not one JSON object is rejected with the byte offset",
        arguments: [
            ("", "byte 0: expected a JSON object"), ("<html>", "byte 0: expected a JSON object"),
            ("\u{FEFF}{}", "byte 0: expected a JSON object"), (#"{"status":0"#, "byte 11: expected a comma or }"),
            (#"{"status":0}}"#, "byte 12: expected nothing after the object"),
            (#"{"status":00}"#, "byte 11: expected a comma or }"),
        ])
    func refused(text: String, description: String) { #expect(reason(Array(text.utf8)) == description) }

    @Test("Every truncated body is rejected")
    func truncated() throws {
        let answer = Array(#"{"receipt":{"in_app":[{"a":"b\n"},{}],"x":-1.5e3},"is_retryable":false,"status":0}"#.utf8)
        #expect(try VerifyReceiptStatusReader.scan(answer).status == 0)
        for length in 0..<answer.count { #expect(reason(Array(answer[..<length])) != nil, "\(length) bytes") }
    }

    @Test("No change of a single byte makes the reader trap")
    func anyByte() {
        let answer = Array(#"{"r":{"i":[{"a":"\u0041"}]},"is_retryable":"false","status":0}"#.utf8)
        for index in answer.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = answer
                changed[index] = byte
                _ = try? VerifyReceiptStatusReader.scan(changed)
            }
        }
    }

    private func reason(_ bytes: [UInt8]) -> String? {
        do throws(JSONStructureError) {
            _ = try VerifyReceiptStatusReader.scan(bytes)
            return nil
        } catch {
            return error.description
        }
    }
}
