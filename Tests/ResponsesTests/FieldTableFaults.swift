import ReceiptBridgeResponses
import Testing

/// A valid table of ``AnswerField``, into which errors are inserted.
enum ValidTable {
    static let rows = """
        {"wire": "status", "model": "status", "as": "number"},
        {"wire": "environment", "model": "environment", "as": "text"},
        {"wire": "receipt", "model": "receipt", "as": "nested"},
        {"wire": "latest_receipt_info", "model": "latestReceiptInfo", "as": "nested"},
        {"wire": "latest_receipt", "model": "latestReceipt", "as": "text"}
        """
    static let omitted = [
        "latestExpiredReceiptInfo", "pendingRenewalInfo", "autoRenewProductId", "autoRenewStatus", "expirationIntent",
        "isInBillingRetryPeriod", "isRetryable", "exception",
    ].map { #"{"model": "\#($0)", "because": "of the test"}"# }.joined(separator: ",")

    static func json(
        model: String = "VerifyReceiptAnswer", rows: String = rows, omitted: String = omitted, more: String = ""
    ) -> String {
        #"{"model": "\#(model)", "place": "the answer", "rows": [\#(rows)], "omitted": [\#(omitted)]\#(more)}"#
    }
}

/// A table that must be rejected, and the error message after the file's name.
struct Fault: Sendable, CustomTestStringConvertible {
    let json: String
    let code: FieldTableError.Code
    let reason: String

    var testDescription: String { reason }

    private init(_ json: String, _ code: FieldTableError.Code, _ reason: String) {
        self.json = json
        self.code = code
        self.reason = reason
    }

    private init(_ piece: String, by other: String, _ code: FieldTableError.Code, _ reason: String) {
        self.init(ValidTable.json().replacing(piece, with: other), code, reason)
    }

    static let all: [Fault] = shapes + headers + columns + repeated + missing

    private static let shapes = [
        Fault("[]", .malformed, "header: not a JSON object"),
        Fault("{", .malformed, "header: not a JSON object"),
        Fault(ValidTable.json(rows: "1"), .malformed, "rows[1]: not a JSON object"),
        Fault(
            #""as": "number""#, by: #""as": 7"#, .malformed, #"rows[1] "status": as is not a JSON string"#),
    ]

    private static let headers = [
        Fault(
            ValidTable.json(model: "AppReceipt"), .wrongHeader,
            "header: model is AppReceipt, must be VerifyReceiptAnswer"),
        Fault(
            #""place": "the answer""#, by: #""place": "receipt""#, .wrongHeader,
            "header: place is receipt, must be the answer"),
        Fault(ValidTable.json(more: #", "version": 1"#), .unknownKey, "header: unknown key version"),
        Fault(#""omitted""#, by: #""left-out""#, .unknownKey, "header: unknown key left-out"),
        Fault(
            #"{"model": "VerifyReceiptAnswer", "place": "the answer", "rows": []}"#, .missingKey,
            "header: missing key omitted"),
    ]

    private static let columns = [
        Fault(#", "as": "number""#, by: "", .missingKey, #"rows[1] "status": missing key as"#),
        Fault(
            #""as": "number""#, by: #""as": "number", "plist": "a""#, .unknownKey,
            #"rows[1] "status": unknown key plist"#),
        Fault(
            #""as": "number""#, by: #""as": "integer""#, .unknownConversion,
            """
            rows[1] "status": unknown conversion integer; the conversions are text, number, numberOrNull, numberOrZero, \
            numberAsText, nonZeroNumberAsText, flag, flagAsText, flagAsDigit, ownershipAsText, dateTriplet, expiryTriplet, cancellationTriplet, nested
            """),
        Fault(
            #""as": "number""#, by: #""as": "dateTriplet""#, .unfittingConversion,
            #"rows[1] "status": dateTriplet does not fit status, a number"#),
        Fault(
            #""model": "environment""#, by: #""model": "country""#, .unknownModel,
            #"rows[2] "environment": VerifyReceiptAnswer has no property country"#),
        Fault(
            #""wire": "latest_receipt","#, by: #""wire": "Größe","#, .badWire,
            #"rows[5] "Größe": wire may only contain a-z, 0-9, _ and -"#),
    ]

    private static let repeated = [
        Fault(
            #""wire": "latest_receipt","#, by: #""wire": "receipt","#, .duplicateWire,
            #"rows[5] "receipt": the response already has the key receipt"#),
        Fault(
            #""wire": "status","#, by: #""wire": "status", "also": "status","#, .duplicateWire,
            #"rows[1] "status": the response already has the key status"#),
        Fault(
            #""model": "latestReceipt""#, by: #""model": "environment""#, .duplicateModel,
            #"rows[5] "latest_receipt": environment is already in the table"#),
        Fault(
            ValidTable.json(omitted: ValidTable.omitted + #", {"model": "status", "because": "twice"}"#),
            .duplicateModel, #"omitted[9] "status": status is already in the table"#),
    ]

    /// Properties without a row or a reason.
    private static let missing = [
        Fault(
            ValidTable.json(omitted: #"{"model": "latestExpiredReceiptInfo"}"#), .missingKey,
            #"omitted[1] "latestExpiredReceiptInfo": missing key because"#),
        Fault(
            ValidTable.json(omitted: ""), .unmappedModel,
            "header: VerifyReceiptAnswer.latestExpiredReceiptInfo is neither mapped nor omitted"),
    ]
}
