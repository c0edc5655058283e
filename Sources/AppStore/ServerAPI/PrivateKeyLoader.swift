import Cryptography
import Foundation
package import StoreTypes

/// Where the private key of a Server API account is: the `.p8` file of App Store Connect, or its text.
package enum PrivateKeySource: Sendable, Hashable {
    /// A file; read again when it changes.
    case file(path: String)
    /// The text itself, as from an environment variable.
    case text(Redacted<String>)
}

/// The key of a source, and when to read it again.
struct PrivateKeyLoader {
    /// What tells that a file is another one: exchanging a file atomically changes its number even within a second.
    private struct Stamp: Equatable {
        let modified: Date?
        let size: Int?
        let number: Int?
    }

    /// A `.p8` has 260 bytes.
    private static let maximumBytes = 65_536

    private let source: PrivateKeySource
    private var stamp: Stamp?
    private(set) var key: SigningKey?

    init(_ source: PrivateKeySource) {
        self.source = source
    }

    /// Reads the key when there is none yet or the file changed; true when it is another one than before.
    ///
    /// A file that cannot be read, as in the middle of being exchanged or written in place, leaves the key as it was;
    /// throws only when there is none.
    mutating func refresh() throws(ServerAPIError) -> Bool {
        switch source {
        case .text(let text):
            guard key == nil else { return false }
            key = try Self.parse(text.reveal())
            return true
        case .file(let path):
            let current = Self.stamp(of: path)
            guard key == nil || (current != nil && current != stamp) else { return false }
            do throws(ServerAPIError) {
                key = try Self.read(path)
                stamp = current
                return true
            } catch {
                // Read again until it is whole: the other half may come within the same instant of the file system.
                stamp = nil
                guard key == nil else { return false }
                throw error
            }
        }
    }

    private static func stamp(of path: String) -> Stamp? {
        guard let facts = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
        return Stamp(
            modified: facts[.modificationDate] as? Date, size: (facts[.size] as? NSNumber)?.intValue,
            number: (facts[.systemFileNumber] as? NSNumber)?.intValue)
    }

    private static func read(_ path: String) throws(ServerAPIError) -> SigningKey {
        guard let file = FileHandle(forReadingAtPath: path),
            let data = try? file.read(upToCount: maximumBytes), let text = String(data: data, encoding: .utf8)
        else { throw ServerAPIError(.privateKey, at: path, "the private key file cannot be read") }
        return try parse(text, at: path)
    }

    private static func parse(_ text: String, at place: String = "private key") throws(ServerAPIError) -> SigningKey {
        do throws(CryptographyError) {
            let key = try SigningKey(privateKeyPEM: text)
            guard !key.isRSA, key.bits == 256 else {
                throw CryptographyError(.keyRefused, "not a P-256 key, as App Store Connect's In-App Purchase keys are")
            }
            return key
        } catch {
            throw ServerAPIError(.privateKey, at: place, error.reason)
        }
    }
}
