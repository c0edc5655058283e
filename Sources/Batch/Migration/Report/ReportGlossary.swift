import ReceiptBridgeReceipts

/// Explanations of the names in a report.
enum ReportGlossary {
    static func meaning(of outcome: MigrationOutcome) -> String {
        switch outcome {
        case .migrated: "authentic, with the App Store's records"
        case .decoded: "authentic, without a lookup in the App Store"
        case .noTransactions: "authentic, with no purchase to look up"
        case .refused: "not a receipt, or not authentic"
        case .notFound: "the App Store does not know the customer"
        case .failed: "temporary failure; the next run retries"
        }
    }

    /// Explanation of an outcome with `--allow-unverified`.
    static func unverifiedMeaning(of outcome: MigrationOutcome) -> String {
        switch outcome {
        case .migrated: "with the App Store's records"
        case .refused: "not a receipt, or not authentic and without an id of an app that has a key"
        case .decoded, .noTransactions, .notFound, .failed: meaning(of: outcome)
        }
    }

    static func meaning(ofKind kind: String) -> String? {
        ReceiptKind(rawValue: kind).map { kind in
            switch kind {
            case .appReceipt: "App Receipt, the signed file of an app"
            case .transactionReceipt: "receipt of one transaction, the older style"
            case .jws: "JWS of StoreKit 2 or the App Store"
            case .unknown: "not recognized"
            }
        }
    }

    static func meaning(ofEnvironment environment: String) -> String? {
        switch environment {
        case "Production": "real purchases"
        case "Sandbox": "test purchases: TestFlight, App Review, testers"
        case "Xcode": "made on a developer’s machine"
        case "unknown": "could not be read"
        default: nil
        }
    }

    static func meaning(ofRepair repair: String) -> String? {
        ReceiptRepair(rawValue: repair).map { repair in
            switch repair {
            case .whitespace: "line breaks and spaces inside the base64"
            case .spaceForPlus: "“+” had become a space, as in form posts"
            case .marks: "marks between the lines or characters of the base64"
            case .markup: "tags, character references or quoted-printable between the characters"
            case .percentEncoding: "percent-encoded, as in URLs"
            case .doublePercentEncoding: "percent-encoded twice"
            case .urlSafeAlphabet: "“-” and “_” for “+” and “/”"
            case .missingPadding: "“=” missing at the end"
            case .jsonEscapes: "“\\/” as JSON writes it"
            case .quotes: "quoted as a JSON string"
            case .doubleBase64: "base64 of base64"
            case .hexadecimal: "hexadecimal digits, after “0x” or “\\x” or alone"
            case .dataDescription: "“<3082 0a…>”, as NSData and other types print their bytes"
            case .dataURL: "“data:…;base64,”"
            case .unityWrapper: "Unity’s object around the receipt"
            case .requestWrapper: "a whole verifyReceipt request"
            case .answerWrapper: "a whole verifyReceipt response: its latest_receipt"
            case .notificationWrapper: "a whole notification: its signedPayload"
            case .jsonMember: "a member of a JSON object or array"
            case .formBody: "a field of an HTML form"
            case .literal: "inside other text, as “b'…'”"
            case .byteList: "a list of numbers, one for each byte"
            case .compressed: "compressed with gzip or zlib"
            case .latin1: "bytes that were converted from Latin-1 to UTF-8"
            case .pemArmour: "“-----BEGIN …-----” around the base64"
            case .rawBytes: "bytes without base64"
            case .byteOrderMark: "a byte order mark before the text"
            case .utf16: "UTF-16 instead of UTF-8"
            case .trailingBytes: "bytes after the receipt"
            }
        }
    }

    static func meaning(ofReason code: String) -> String? {
        ReceiptDecodingError.Code(rawValue: code).map(meaning) ?? rowReasons[code]
    }

    private static func meaning(of code: ReceiptDecodingError.Code) -> String {
        switch code {
        case .unreadable: "cannot be opened"
        case .empty: "empty"
        case .tooLarge: "larger than any receipt"
        case .notBase64: "not base64, and not repairable"
        case .notAReceipt: "base64 of something else"
        case .signedTransaction: "a signed transaction instead of a receipt"
        case .bridgeHandle: "a handle of receipt-bridge 0.1.0 instead of a receipt"
        case .purchaseInfoOnly: "the inner list of a receipt without its signature"
        case .malformed: "the structure is broken"
        case .truncated: "cut short: the end is missing"
        case .truncatedDescription: "a description of data that lacks most of the bytes"
        case .trailingBytes: "bytes after the end"
        case .tooMany: "more parts than any receipt has"
        case .missingAttribute: "a part that every receipt has is missing"
        case .unsupportedVersion: "an unknown version"
        case .unsigned: "no signature"
        case .severalSigners: "more than one signature"
        case .signerCertificateMissing: "the signer’s certificate is missing"
        case .unknownStructure: "a part has an unknown structure"
        case .unsupportedAlgorithm: "signed with an algorithm that this program does not know"
        case .malformedCertificate: "a certificate that cannot be read"
        case .keyRefused: "signed with a weak key"
        case .notAReceiptSigner: "signed by a certificate that is not for receipts"
        case .untrustedChain: "not signed by Apple"
        case .outsideValidity: "made when the certificate was not valid"
        case .badSignature: "changed after it was signed"
        case .xcodeReceipt: "made on a developer’s machine by Xcode"
        case .issuerUnknown: "the issuer of the certificate is unknown"
        case .unavailable: "this system cannot check the signature"
        }
    }

    /// Reasons of rows that could not be read, and of customers that were not found or failed.
    private static let rowReasons: [String: String] = [
        "malformedAccountToken": "an account token that is not UTF-8",
        "malformedId": "an id that is not UTF-8",
        "malformedQuotes": "CSV quotes that do not match",
        "notAFile": "a directory or device instead of a file",
        "notJSON": "the line is not a JSON object",
        "notReadable": "no permission to read the file",
        "notText": "a Boolean value instead of a receipt",
        "needsAllowUnverified": "transaction ids only, which --with-api --allow-unverified looks up",
        "needsWithAPI": "transaction ids only, which --with-api looks up",
        "bundleIdRequired": "transaction ids of an app that --bundle-id has to name",
        "anotherApp": "transaction ids of an app without a key, or of another one than --bundle-id",
        "roundedId": "a transaction id whose last digits were lost in a spreadsheet",
        "symbolicLink": "a symbolic link instead of a file",
        "tooDeep": "directories nested too deep",
        "unclosedQuote": "a CSV quote that is not closed in its row",
        "wrongFieldCount": "more or fewer CSV fields than the header has",
        "4040010": "the App Store does not know the transaction",
        "notAskedYet": "the customer has not been looked up yet",
    ]
}
