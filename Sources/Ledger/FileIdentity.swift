import Foundation

/// The identity of a file, by device and inode. A new file with the same path has another identity.
struct FileIdentity: Sendable, Hashable {
    private let device: dev_t
    private let number: ino_t

    /// `nil` if there is no such file.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (device, number) = (status.st_dev, status.st_ino)
    }
}
