import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation

/// Loads the private key of a Server API account, the `.p8` file from App Store Connect or its text. Reloads it when
/// its file changes.
struct PrivateKeyLoader {
    /// The attributes by which a changed file is detected. The inode number detects an atomic replacement within a
    /// second.
    private struct FileVersion: Equatable {
        let modified: Date?
        let size: Int?
        let inode: Int?
    }

    /// Maximum size of the file. A `.p8` has about 260 bytes.
    private static let maximumBytes = 65_536

    private let source: SecretSource
    private var fileVersion: FileVersion?
    private(set) var key: SigningKey?

    init(_ source: SecretSource) { self.source = source }

    /// Loads the key if there is none yet or the file has changed. Returns true if a key was loaded.
    ///
    /// If the file cannot be read, for example because it is being replaced, the previous key stays in use. Throws
    /// only if there is no previous key.
    mutating func refresh() throws(UpstreamError) -> Bool {
        switch source {
        case .text(let text):
            guard key == nil else { return false }
            key = try Self.parse(text.reveal())
            return true
        case .file(let path):
            let current = Self.fileVersion(of: path)
            guard key == nil || (current != nil && current != fileVersion) else { return false }
            do throws(UpstreamError) {
                key = try Self.read(path)
                fileVersion = current
                return true
            } catch {
                // Reloads until the file is complete. The rest may be written within the resolution of the
                // modification date, so the attributes cannot be relied on here.
                fileVersion = nil
                guard key == nil else { return false }
                throw error
            }
        }
    }

    private static func fileVersion(of path: String) -> FileVersion? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
        return FileVersion(
            modified: attributes[.modificationDate] as? Date, size: (attributes[.size] as? NSNumber)?.intValue,
            inode: (attributes[.systemFileNumber] as? NSNumber)?.intValue)
    }

    private static func read(_ path: String) throws(UpstreamError) -> SigningKey {
        let bytes: [UInt8]
        do throws(SystemFailure) {
            bytes = try FileDescriptor(reading: path).readToEnd(atMost: maximumBytes)
        } catch {
            throw UpstreamError(.privateKey, at: path, "cannot read the private key: \(error.reason)")
        }
        return try parse(String(decoding: bytes.withoutByteOrderMark, as: UTF8.self), at: path)
    }

    /// Parses the key. Only P-256 is accepted, because ES256 is the only algorithm that Apple accepts for tokens.
    private static func parse(_ text: String, at place: String = "private key") throws(UpstreamError) -> SigningKey {
        do throws(CryptographyError) {
            let key = try SigningKey(privateKeyPEM: text)
            guard key.isP256 else {
                throw CryptographyError(
                    .keyRefused,
                    "expected a P-256 key, such as an In-App Purchase key from App Store Connect, but it is \(key.kind)"
                )
            }
            return key
        } catch {
            throw UpstreamError(.privateKey, at: place, error.reason)
        }
    }
}
