import ReceiptBridgeCTestSupport
package import Foundation
import Synchronization

/// What this process of tests leaves to others: the folder that contains all of its files, and the processes that it
/// started. Both end with it, however it ends.
///
/// A watcher, a small shell script, reads the ids of the processes from a pipe. When this process ends, even by
/// SIGKILL, the pipe ends, and the watcher kills what still runs and removes the folder. A signal of the kernel at the
/// parent's end (`PR_SET_PDEATHSIG`) does not do, because it comes at the end of the thread that started the child.
package enum TestProcess {
    private static let prefix = "receipt-bridge-tests."

    /// The folder of all temporary files of this process: `$TMPDIR/receipt-bridge-tests.PID`.
    package static let folder: URL = {
        let parent = FileManager.default.temporaryDirectory
        removeFolders(ofEndedProcessesIn: parent)
        let folder = parent.appending(path: "\(prefix)\(getpid())")
        // Of an earlier process with the same id.
        try? FileManager.default.removeItem(at: folder)
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(at: TestProcess.folder) }
        return folder
    }()

    /// Lets the watcher kill this process, and the group that it leads, if it still runs when the tests end.
    package static func started(_ process: Int32) { watcher?.tell("+ \(process)\n") }

    /// Forgets a process that has ended, because another one may get its id. Called after ``started(_:)`` only.
    package static func ended(_ process: Int32) { watcher?.tell("- \(process)\n") }

    /// Removes what processes left that ended together with their watchers.
    private static func removeFolders(ofEndedProcessesIn parent: URL) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent.path)) ?? []
        for name in names where name.hasPrefix(prefix) {
            guard let process = Int32(name.dropFirst(prefix.count)), kill(process, 0) != 0, errno == ESRCH else {
                continue
            }
            try? FileManager.default.removeItem(at: parent.appending(path: name))
        }
    }

    /// `nil` if the system has no shell.
    private static let watcher = try? Watcher(removing: folder)

    private final class Watcher: Sendable {
        private static let script = """
            trap '' INT TERM HUP
            children=' '
            while read -r change child; do
                case $change in
                +) children="$children$child " ;;
                -) children="${children%%" $child "*} ${children#*" $child "}" ;;
                esac
            done
            for child in $children; do kill -KILL "-$child" || kill -KILL "$child"; done
            rm -rf "$1"
            """

        private let pipe: Mutex<Pipe>

        init(removing folder: URL) throws {
            let pipe = Pipe()
            // No child may hold the pipe open.
            _ = fcntl(pipe.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
            let process = Process()
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments = ["-c", Self.script, "watcher", folder.path]
            process.standardInput = pipe.fileHandleForReading
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            try pipe.fileHandleForReading.close()
            self.pipe = Mutex(pipe)
        }

        func tell(_ line: String) { pipe.withLock { try? $0.fileHandleForWriting.write(contentsOf: Data(line.utf8)) } }
    }
}
