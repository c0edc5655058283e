import ReceiptBridgeBase

/// Text that is compressed with gzip (RFC 1952) or zlib (RFC 1950).
///
/// Data that ends early or is damaged gives the bytes before the damage, whatever its checksum says, because the
/// signature of the receipt is checked. The output is limited in proportion to the input: receipts are hardly
/// compressible, and their base64 and JSON around them by a factor of less than 10.
package enum CompressedText {
    /// The maximum size of the output for each byte of input.
    private static let maximumRatio = 64

    /// Returns the decompressed bytes; `nil` if the data does not begin as gzip or zlib data, or contains nothing.
    package static func inflate(_ data: [UInt8]) -> [UInt8]? {
        var output: [UInt8] = []
        let limit = min(data.count * maximumRatio, ReceiptInput.maximumTextSize)
        if data.starts(with: [0x1F, 0x8B, 8]) {
            var decoder = GzipDecoder()
            data.withUnsafeBytes { decoder.append($0) }
            _ = decoder.decode(into: &output, limit: limit)
        } else if data.first == 0x78, data.count > 6, [0x01, 0x5E, 0x9C, 0xDA].contains(data[1]) {
            // A header of two bytes, of any level with the usual window.
            var inflater = Inflater()
            data.dropFirst(2).withUnsafeBytes { inflater.append($0) }
            try? inflater.inflate(into: &output, limit: limit)
        }
        return output.isEmpty ? nil : output
    }
}
