import Cryptography
import FileSupport
import Foundation

/// A stream of a regular file, which supports seeking.
struct FileStream: ByteStream {
    let name: String
    private let file: FileDescriptor

    init(path: String) throws(SourceError) {
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
        do throws(SystemFailure) { return try file.read(into: buffer) } catch { throw SourceError(error, at: name) }
    }

    mutating func skip(_ count: Int64) throws(SourceError) {
        guard lseek(file.descriptor, off_t(count), SEEK_CUR) >= 0 else { throw SourceError(.last, at: name) }
    }

    var fraction: Double? { fraction(read: file.descriptor) }

    /// Returns the fraction of the file that has been read.
    ///
    /// - Parameter descriptor: Descriptor through which the same file is read.
    func fraction(read descriptor: Int32) -> Double? {
        let offset = lseek(descriptor, 0, SEEK_CUR)
        guard offset >= 0, let size = try? size(), size > 0 else { return nil }
        return min(Double(offset) / Double(size), 1)
    }

    /// Returns the size, and a digest of the first 64 KiB.
    func identity(as kind: SourceIdentity.Kind) throws(SourceError) -> SourceIdentity {
        let size = try size()
        return SourceIdentity(kind: kind, size: size, digest: try digest(ofFirst: size))
    }

    func comparison(with earlier: SourceIdentity, as kind: SourceIdentity.Kind) throws(SourceError) -> SourceComparison
    {
        let now = SourceIdentity(kind: kind, size: try size(), digest: try digest(ofFirst: earlier.size ?? 0))
        return now.comparison(with: earlier, unit: "byte")
    }

    private func size() throws(SourceError) -> Int64 {
        do throws(SystemFailure) { return Int64(try file.status().st_size) } catch {
            throw SourceError(error, at: name)
        }
    }

    /// Returns the digest of the first 64 KiB at most, without changing the read offset.
    private func digest(ofFirst size: Int64) throws(SourceError) -> String {
        let length = Int(min(size, 1 << 16))
        var failure: SystemFailure?
        let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, filled in
            while filled < length {
                let count = pread(
                    file.descriptor, buffer.baseAddress.map { $0 + filled }, length - filled, off_t(filled))
                if count < 0 { failure = .last }
                guard count > 0 else { return }
                filled += count
            }
        }
        if let failure { throw SourceError(failure, at: name) }
        return SHA.hex(bytes, with: .sha256)
    }
}
