/// What bytes are, authentic or not.
package enum ReceiptKind: String, Sendable, Hashable, CaseIterable {
    /// A PKCS#7 container with the attributes of an App Receipt.
    case appReceipt
    /// The property list that iOS 6 gave for one transaction.
    case transactionReceipt
    /// What StoreKit 2 and the App Store Server API sign.
    case jws
    case unknown
}

/// How much mangling is undone before decoding.
package enum ReceiptProfile: String, Sendable, Hashable, CaseIterable {
    /// As Apple's endpoint: for everything that is answered over HTTP.
    case apple
    /// Every repair below: for stored receipts and for people; the signature is the gate.
    case tolerant
}

/// Something that was undone to get at a receipt.
package enum ReceiptRepair: String, Sendable, Hashable, CaseIterable {
    /// Line breaks and blanks inside the base64.
    case whitespace
    /// `+` had become a blank, as in form posts.
    case spaceForPlus
    case percentEncoding
    /// Percent-encoded twice: `%252B`.
    case doublePercentEncoding
    /// `-` and `_` instead of `+` and `/`.
    case urlSafeAlphabet
    case missingPadding
    /// `\/` as JSON writes it.
    case jsonEscapes
    /// A quoted JSON string.
    case quotes
    /// Base64 of base64.
    case doubleBase64
    /// Hexadecimal digits, behind `0x` or `\x` or alone.
    case hexadecimal
    /// `<3082 0a…>`, what NSData printed until iOS 12, or a `{length = …, bytes = 0x…}` that is complete.
    case dataDescription
    /// `data:…;base64,`
    case dataURL
    /// Unity's `{"Store":…,"Payload":…}`.
    case unityWrapper
    /// A verifyReceipt request: `{"receipt-data":…}`.
    case requestWrapper
    /// A verifyReceipt answer: its `latest_receipt`.
    case answerWrapper
    /// A notification: `{"signedPayload":…}`.
    case notificationWrapper
    /// `-----BEGIN PKCS7-----` and its end.
    case pemArmour
    /// The property list or the container itself, without base64.
    case rawBytes
    case byteOrderMark
    /// UTF-16, with or without a byte order mark.
    case utf16
    /// Bytes behind the container.
    case trailingBytes
}
