import ReceiptBridgeBase

/// Fuzzes the decompression of a response that arrives in parts.
enum GzipTarget {
    private static let limit = 1 << 20

    private struct Result: Equatable {
        var output: [UInt8] = []
        var isComplete = false
        var isDamaged = false
        var isTooLong = false
    }

    static func run(_ data: [UInt8]) {
        let whole = decoded(data, inPartsOf: max(data.count, 1))
        require(whole.output.count <= limit, "the size of decompressed data is limited")
        for size in [1, 7] {
            require(decoded(data, inPartsOf: size) == whole, "data in parts is decoded like the whole")
        }
    }

    private static func decoded(_ data: [UInt8], inPartsOf size: Int) -> Result {
        var (decoder, result) = (GzipDecoder(), Result())
        for start in stride(from: 0, to: data.count, by: size) {
            data[start..<min(start + size, data.count)].withUnsafeBytes { decoder.append($0) }
            switch decoder.decode(into: &result.output, limit: limit) {
            case .needsInput: continue
            case .needsRoom: return Result(isTooLong: true)
            case .damaged: return Result(isDamaged: true)
            }
        }
        result.isComplete = decoder.isComplete
        return result
    }
}
