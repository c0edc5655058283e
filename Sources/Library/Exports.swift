import ReceiptBridgeBase
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The function behind `receipt_bridge_decode`, which receipt_bridge.h describes. `public`, because only then the
/// compiler keeps it.
@_cdecl("receipt_bridge_decode_value")
public func decodeValue(
    _ bytes: UnsafeRawPointer?, _ length: Int, _ options: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    text(of: result(bytes, length, options))
}

/// The function behind `receipt_bridge_decode_all`.
@_cdecl("receipt_bridge_decode_values")
public func decodeValues(
    _ values: UnsafePointer<UnsafeRawPointer?>?, _ lengths: UnsafePointer<Int>?,
    _ options: UnsafePointer<UnsafePointer<CChar>?>?, _ count: Int
) -> UnsafeMutablePointer<CChar>? {
    var json: [UInt8] = [UInt8(ascii: "[")]
    if let values, let lengths, count > 0 {
        for index in 0..<count {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            json += result(values[index], lengths[index], options?[index])
        }
    }
    json.append(UInt8(ascii: "]"))
    return text(of: json)
}

/// Returns the JSON of a result.
private func result(_ bytes: UnsafeRawPointer?, _ length: Int, _ options: UnsafePointer<CChar>?) -> [UInt8] {
    // A value that is too large is refused by its length, so no more of it is copied.
    let count = bytes == nil ? 0 : Int(min(UInt(bitPattern: length), UInt(LibraryCall.excessiveSize)))
    return LibraryCall.result(
        of: [UInt8](UnsafeRawBufferPointer(start: bytes, count: count)),
        options: options.map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) })
}

/// Returns a copy that ends with a zero byte and belongs to the caller.
private func text(of json: [UInt8]) -> UnsafeMutablePointer<CChar>? {
    guard let copy = malloc(json.count + 1) else { return nil }
    json.withUnsafeBytes { copy.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(copy), byteCount: json.count) }
    copy.storeBytes(of: 0, toByteOffset: json.count, as: UInt8.self)
    return copy.assumingMemoryBound(to: CChar.self)
}

/// One call of the library.
package enum LibraryCall {
    /// Verifiers by their certificates. Most processes need one.
    private static let verifiers = Mutex<[(certificates: [String], verifier: LibraryVerifier)]>([])
    private static let maximumVerifiers = 8
    /// A size in bytes that the decoder refuses (16 MiB).
    static let excessiveSize = 16 << 20

    /// Returns the JSON of a result.
    package static func result(of value: [UInt8], options: [UInt8]?) -> [UInt8] {
        do throws(OptionError) {
            let options = try LibraryOptions(json: options ?? Array("{}".utf8))
            return try verifier(options.certificates).decode(value, options)
        } catch {
            return JSONWriter.object {
                $0.object("error") {
                    $0.member("code", error.code)
                    $0.member("reason", error.reason)
                }
            }
        }
    }

    /// Returns the verifier of these certificates, which is kept.
    private static func verifier(_ certificates: [String]) throws(OptionError) -> LibraryVerifier {
        if let kept = verifiers.withLock({ $0.first { $0.certificates == certificates } }) { return kept.verifier }
        let verifier = try LibraryVerifier(certificates: certificates)
        verifiers.withLock { verifiers in
            if verifiers.count == maximumVerifiers { verifiers.removeFirst() }
            verifiers.append((certificates, verifier))
        }
        return verifier
    }
}
