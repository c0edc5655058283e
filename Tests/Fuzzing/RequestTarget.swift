import ReceiptBridgeBase
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeCore

/// Fuzzes the body of a verifyReceipt request: Apple must receive exactly what was inspected.
enum RequestTarget {
    /// A password with characters that JSON must escape.
    private static let secret = SharedSecret("pa\"ss\\w\u{1}é")

    static func run(_ body: [UInt8]) {
        for profile in ReceiptProfile.allCases {
            guard let request = try? VerifyReceiptRequest(body: body, profile: profile) else { continue }
            _ = request.hasBase64Text
            for replacement in [nil, secret] {
                let forwarded = request.forwardedBody(password: replacement)
                let seen = FuzzTrust.made { try VerifyReceiptRequest(body: forwarded) }
                require(seen.receiptText == request.receiptText, "the receipt that was inspected is forwarded")
                require(
                    seen.password == (replacement.map { .text($0) } ?? request.password), "the password is forwarded")
                require(
                    seen.excludesOldTransactions == request.excludesOldTransactions,
                    "exclude-old-transactions is forwarded")
                require(seen.forwardedBody(password: nil) == forwarded, "the forwarded body is unambiguous")
                agrees(forwarded, request, password: replacement)
            }
        }
    }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Checks that another JSON parser reads the same values. Foundation drops a byte order mark at the beginning of
    /// a string and after an escape in it.
    private static func agrees(_ forwarded: [UInt8], _ request: VerifyReceiptRequest, password: SharedSecret?) {
        guard !forwarded.contains(byteOrderMark),
            let object = try? JSONSerialization.jsonObject(with: Data(forwarded)) as? [String: Any]
        else { return }
        let receipt = (object["receipt-data"] as? String).map { Array($0.utf8) }
        require(receipt == request.receiptText.reveal(), "Foundation reads the receipt that was inspected")
        if let password {
            require(object["password"] as? String == password.reveal(), "Foundation reads the configured password")
        }
    }
}
