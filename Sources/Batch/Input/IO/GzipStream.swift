import ReceiptBridgeBase
import Foundation

/// A stream of the content of a gzip file, which a `gzip -dc` child process decompresses. Memory is limited to that
/// of the pipe.
///
/// The end of the output is the end of the stream only if `gzip` succeeds. A truncated file is an error, even if some
/// data has been decompressed.
final class GzipStream: ByteStream {
    let name: String
    private let compressed: FileStream
    /// Input of `gzip`, whose offset shows the progress.
    private let input: FileHandle
    private let process = Process()
    private let pipe = Pipe()
    private let output: FileDescriptor
    private var isFinished = false

    init(path: String) throws(SourceError) {
        name = path
        compressed = try FileStream(path: path)
        guard let input = FileHandle(forReadingAtPath: path) else {
            throw SourceError(.notReadable, at: path, "it cannot be opened")
        }
        self.input = input
        output = FileDescriptor(pipe.fileHandleForReading.fileDescriptor, isOwned: false)
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["gzip", "-dc"]
        // Do not pass the environment on, because it may contain secrets.
        process.environment = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"]
        process.standardInput = input
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            throw SourceError(.notReadable, at: path, "gzip cannot be started")
        }
    }

    deinit {
        guard !isFinished, process.isRunning else { return }
        // SIGTERM may be blocked: a child process inherits the signal mask of the thread that starts it.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SourceError) -> Int {
        let count: Int
        do throws(SystemFailure) { count = try output.read(into: buffer) } catch { throw SourceError(error, at: name) }
        if count == 0, !isFinished { try finish() }
        return count
    }

    var fraction: Double? { compressed.fraction(read: input.fileDescriptor) }

    /// Checks the exit code of `gzip`, which detects truncated and damaged data.
    private func finish() throws(SourceError) {
        process.waitUntilExit()
        isFinished = true
        switch (process.terminationReason, process.terminationStatus) {
        // Exit code 2 is a warning. For example, for trailing zeros, which tapes add.
        case (.exit, 0), (.exit, 2): break
        case (.exit, 126), (.exit, 127): throw SourceError(.notReadable, at: name, "the command gzip was not found")
        default: throw Self.damage(at: name)
        }
    }

    static func damage(at path: String) -> SourceError {
        SourceError(.truncated, at: path, "the compressed data ends early or is damaged")
    }

    /// Returns the identity of the compressed file. If another compressed part is appended, the file has grown.
    func identity(as kind: SourceIdentity.Kind, ofSize size: Int64?) throws(SourceError) -> SourceIdentity {
        try compressed.identity(as: kind, ofSize: size)
    }
}
