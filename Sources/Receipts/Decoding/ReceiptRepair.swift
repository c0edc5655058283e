/// A repair that was applied to recover a receipt from a damaged or wrapped text.
package enum ReceiptRepair: String, Sendable, Hashable, CaseIterable {
    /// Line breaks and spaces inside the base64 were removed.
    case whitespace
    /// Spaces were replaced by `+`. A `+` becomes a space if base64 is sent in a form body without percent-encoding.
    case spaceForPlus
    /// Percent-encoding was decoded, for example `%2B` to `+`.
    case percentEncoding
    /// Percent-encoding was decoded twice, for example `%252B` to `+`.
    case doublePercentEncoding
    /// Characters between those of the base64 were removed: quotation marks, spaces of Unicode, numbers of lines, and
    /// the `rn` that is left of an escaped line break.
    case marks
    /// Tags and character references of HTML, or the escapes of quoted-printable, were decoded between the characters
    /// of the base64.
    case markup
    /// `-` and `_` were replaced by `+` and `/`.
    case urlSafeAlphabet
    /// Missing `=` were added at the end.
    case missingPadding
    /// JSON escapes were decoded, for example `\/`.
    case jsonEscapes
    case quotes
    case doubleBase64
    /// The text was hexadecimal digits, with the prefix `0x` or `\x` or without a prefix.
    case hexadecimal
    /// The text was a printed description of the data: `<3082 0a…>`, which NSData printed until iOS 12, or `{length =
    /// …, bytes = 0x…}` with all of its bytes.
    case dataDescription
    /// The prefix `data:…;base64,` was removed.
    case dataURL
    /// The receipt was in a member of Unity's `{"Store":…,"Payload":…}`.
    case unityWrapper
    /// The receipt was in a verifyReceipt request: `{"receipt-data":…}`.
    case requestWrapper
    /// The receipt was the `latest_receipt` of a verifyReceipt response.
    case answerWrapper
    /// The text was an App Store Server Notification: `{"signedPayload":…}`.
    case notificationWrapper
    /// The receipt was in a member of a JSON object or array, of whatever name. Also in the objects that MongoDB and
    /// DynamoDB write around a value.
    case jsonMember
    /// The receipt was a field of an HTML form: `receipt-data=MII…&password=…`.
    case formBody
    /// The receipt was inside other text, for example a literal, a call or a markup: `b'…'`, `Optional("…")`,
    /// `<data>…</data>`.
    case literal
    /// The bytes were a list of numbers: `[48, 130, …]`, also in the JSON of Node's `Buffer`.
    case byteList
    /// The bytes were compressed with gzip or zlib.
    case compressed
    /// The bytes were converted to UTF-8, as if each of them were a character of Latin-1.
    case latin1
    /// The lines `-----BEGIN PKCS7-----` and `-----END PKCS7-----` were removed.
    case pemArmour
    /// The text was the property list or the container itself, without base64.
    case rawBytes
    case byteOrderMark
    /// The text was UTF-16, with or without a byte order mark.
    case utf16
    /// Bytes after the end of the container were removed.
    case trailingBytes
}
