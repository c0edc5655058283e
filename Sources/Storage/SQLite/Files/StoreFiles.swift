import ReceiptBridgeBase
import Foundation

/// Users other than the owner that can read or change a file.
package enum FileExposure: String, Sendable, CaseIterable {
    case group, everybody

    /// The folders of systemd's credentials. Their files have the mode 0440, but only root and the user of the service
    /// can enter the folder (systemd.exec(5), "Credentials").
    private static let credentials =
        ["/run/credentials"] + [ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"]].compactMap(\.self)

    /// `nil` if only the owner can read or change the file, and if the file does not exist.
    package init?(path: String) {
        guard !Self.credentials.contains(where: { path.hasPrefix($0 + "/") }) else { return nil }
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        if status.st_mode & 0o006 != 0 {
            self = .everybody
        } else if status.st_mode & 0o060 != 0 {
            self = .group
        } else {
            return nil
        }
    }

    /// Completes the sentence "can be read or changed by".
    package var description: String {
        switch self {
        case .group: "the file's group"
        case .everybody: "every user of this machine"
        }
    }
}

/// The files of a SQLite database: the database, `-wal` and `-shm`.
package enum StoreFiles {
    package static func exposed(of path: String) -> [(path: String, exposure: FileExposure)] {
        [path, path + "-wal", path + "-shm"].compactMap { file in
            FileExposure(path: file).map { (file, $0) }
        }
    }

    /// Creates the file if it is missing, so that only this user can read it: SQLite would create it readable by other
    /// users. A symbolic link to a missing file is followed, as SQLite does.
    static func createIfMissing(_ path: String) throws(StorageError) {
        var status = stat()
        guard stat(path, &status) != 0 else {
            guard isDirectory(status) else { return }
            throw StorageError(.notPermitted, at: path, SystemFailure(code: EISDIR).reason)
        }
        // Not the file of another thread: closing a descriptor of it would release that thread's locks.
        let isLink = lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | (isLink ? 0 : O_EXCL), 0o600)
        if file >= 0 {
            close(file)
        } else if errno != EEXIST {
            throw Self.error(.last, at: path)
        }
    }

    private static func isDirectory(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFDIR }

    /// Why an existing file cannot be read, which SQLite does not say; `nil` if the file is not the reason.
    static func problem(of path: String) -> SystemFailure? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        if isDirectory(status) { return SystemFailure(code: EISDIR) }
        return access(path, R_OK) == 0 ? nil : .last
    }

    /// The error of a file that cannot be created or opened. A file cannot be missing, but its directory can.
    private static func error(_ failure: SystemFailure, at path: String) -> StorageError {
        let reason = failure.code == ENOENT ? "there is no such directory" : failure.reason
        return StorageError(.notPermitted, at: path, "the file cannot be created: \(reason)")
    }

    /// Size of the database and its log in bytes.
    package static func size(of path: String) -> Int64 {
        [path, path + "-wal"].reduce(0) { size, file in
            var status = stat()
            return stat(file, &status) == 0 ? size + Int64(status.st_size) : size
        }
    }

    /// Removes the permissions of group and others from the existing files that this user owns. SQLite creates new
    /// ones with the permissions of the database file.
    ///
    /// The function opens no descriptor: closing one of a database file would release every lock that this process
    /// has on it.
    package static func makePrivate(_ path: String) {
        for (file, _) in exposed(of: path) {
            var status = stat()
            guard stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
                continue
            }
            _ = chmod(file, status.st_mode & 0o700)
        }
    }
}

/// The identity of a file, by device and inode. A new file with the same path has another identity.
package struct FileIdentity: Sendable, Hashable {
    private let device: dev_t
    private let inode: ino_t

    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (device, inode) = (status.st_dev, status.st_ino)
    }
}
