import Foundation

/// Who can read or change a file, other than its owner.
package enum FileExposure: String, Sendable, CaseIterable {
    case group, everybody

    /// `nil` for a file of its owner alone, and if there is no such file.
    package init?(path: String) {
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

    /// After "can be read or changed by".
    package var description: String {
        switch self {
        case .group: "the file's group"
        case .everybody: "everybody on this machine"
        }
    }
}

/// The files of a SQLite database.
package enum StoreFiles {
    /// Those of them that others than the owner can read or change.
    package static func exposed(of path: String) -> [(path: String, exposure: FileExposure)] {
        [path, path + "-wal", path + "-shm"].compactMap { file in
            FileExposure(path: file).map { (file, $0) }
        }
    }

    /// Takes the others' permissions from the files that exist and are this user's; SQLite makes new ones like the first.
    ///
    /// By name, not by descriptor: closing a descriptor of a database gives up every lock that this process has on it.
    static func makePrivate(_ path: String) {
        for (file, _) in exposed(of: path) {
            var status = stat()
            guard stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
                continue
            }
            _ = chmod(file, status.st_mode & 0o700)
        }
    }
}
