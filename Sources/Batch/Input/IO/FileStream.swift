import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation

/// A stream of a regular file, which supports seeking.
struct FileStream: ByteStream {
    let name: String
    private let file: FileDescriptor
    private let end: Int64?

    /// Opens the file, or only its part before an offset.
    init(path: String, end: Int64? = nil) throws(SourceError) {
        self.end = end
        let isRegularFile: Bool
        do throws(SystemFailure) {
            file = try FileDescriptor(reading: path)
            isRegularFile = try file.status().isRegularFile
        } catch {
            throw SourceError(error, at: path)
        }
        guard isRegularFile else { throw SourceError(.notReadable, at: path, "this is not a regular file") }
        name = path
    }

    mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(SourceError) -> Int {
        var buffer = buffer
        if let end {
            let left = max(end - Int64(lseek(file.descriptor, 0, SEEK_CUR)), 0)
            guard left > 0 else { return 0 }
            buffer = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, Int(clamping: left))])
        }
        do throws(SystemFailure) { return try file.read(into: buffer) } catch { throw SourceError(error, at: name) }
    }

    mutating func skip(_ count: Int64) throws(SourceError) {
        guard lseek(file.descriptor, off_t(count), SEEK_CUR) >= 0 else { throw SourceError(.last, at: name) }
    }

    var fraction: Double? { fraction(read: file.descriptor) }

    /// Returns the fraction that has been read through a descriptor of the same file.
    func fraction(read descriptor: Int32) -> Double? {
        let offset = lseek(descriptor, 0, SEEK_CUR)
        guard offset >= 0, let size = try? size(), size > 0 else { return nil }
        return min(Double(offset) / Double(size), 1)
    }

    /// Returns the size, and a digest of the first 64 KiB at most.
    func identity(as kind: SourceIdentity.Kind, ofSize earlier: Int64?) throws(SourceError) -> SourceIdentity {
        let size = try size()
        let beginning = try bytes(at: 0, count: Int(min(earlier ?? size, 1 << 16)))
        return SourceIdentity(kind: kind, size: size, digest: SHA.hex(beginning, with: .sha256))
    }

    func size() throws(SourceError) -> Int64 {
        do throws(SystemFailure) { return Int64(try file.status().st_size) } catch {
            throw SourceError(error, at: name)
        }
    }

    /// Returns the bytes at an offset, fewer at the end of the file, without changing the read offset.
    func bytes(at offset: Int64, count length: Int) throws(SourceError) -> [UInt8] {
        var failure: SystemFailure?
        let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, filled in
            while filled < length {
                let count = pread(
                    file.descriptor, buffer.baseAddress.map { $0 + filled }, length - filled,
                    off_t(offset) + off_t(filled))
                if count < 0 { failure = .last }
                guard count > 0 else { return }
                filled += count
            }
        }
        if let failure { throw SourceError(failure, at: name) }
        return bytes
    }
}
